/** Entry of the app. Nothing is awaited here: Electron is ready only after this module has been evaluated. */

import { openLocalCore } from '../app/supervisor/local-core.ts';
import { crash } from './crash.ts';
import { runApp } from './run.ts';

runApp({ openCore: openLocalCore, out: import.meta.dirname }).catch(crash);
