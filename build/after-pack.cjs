// Runs in electron-builder after it has put the package together and before it signs it.
const { existsSync } = require('node:fs');
const { rm } = require('node:fs/promises');
const path = require('node:path');

/** Name of the file that tells the development runtime from a real one (build/electron-runtime.mjs writes it). */
const DEV_RUNTIME_MARK = '.rollcall-development-runtime';

/** Where the parts of a package lie on each platform. */
function layout({ appOutDir, electronPlatformName, packager }) {
  const name = packager.appInfo.productFilename;
  if (electronPlatformName === 'darwin') {
    const app = path.join(appOutDir, `${name}.app`);
    return { executable: app, resources: path.join(app, 'Contents', 'Resources') };
  }
  const file = electronPlatformName === 'win32' ? `${name}.exe` : packager.executableName;
  return { executable: path.join(appOutDir, file), resources: path.join(appOutDir, 'resources') };
}

/**
 * Removes what belongs to a bare runtime and closes the runtime's back doors.
 *
 * @param {import('electron-builder').AfterPackContext} context
 */
exports.default = async function afterPack(context) {
  const { flipFuses, FuseVersion, FuseV1Options } = await import('@electron/fuses');
  const { executable, resources } = layout(context);
  const mark = path.join(context.appOutDir, DEV_RUNTIME_MARK);
  const development = existsSync(mark);
  await flipFuses(executable, {
    version: FuseVersion.V1,
    resetAdHocDarwinSignature: context.electronPlatformName === 'darwin',
    // The guard is this executable run as Node, so that it outlives the app without another binary.
    [FuseV1Options.RunAsNode]: true,
    [FuseV1Options.EnableNodeOptionsEnvironmentVariable]: false,
    // Only tests attach to the package; nobody debugs into a released one.
    [FuseV1Options.EnableNodeCliInspectArguments]: development,
    [FuseV1Options.OnlyLoadAppFromAsar]: true,
    [FuseV1Options.EnableEmbeddedAsarIntegrityValidation]: context.electronPlatformName !== 'linux',
    [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
    [FuseV1Options.GrantFileProtocolExtraPrivileges]: false,
  });
  // A runtime that was handed over as a folder is copied whole.
  await rm(path.join(resources, 'default_app.asar'), { force: true });
  await rm(path.join(context.appOutDir, 'version'), { force: true });
  await rm(mark, { force: true });
};
