/**
 * The cgroup path that tells which unit a process belongs to, from `/proc/PID/cgroup`: the unified hierarchy's
 * (`0::`), or systemd's own (`name=systemd`) where that one says more, as on hybrid hosts, where the unified path
 * may stay `/`. Null when neither is there. Source: cgroups(7).
 */
export function leafCgroup(text: string): string | null {
  let unified: string | null = null;
  let systemd: string | null = null;
  for (const line of text.split('\n')) {
    const first = line.indexOf(':');
    const second = line.indexOf(':', first + 1);
    if (first < 0 || second < 0) continue;
    const controllers = line.slice(first + 1, second);
    const path = line.slice(second + 1);
    if (line.slice(0, first) === '0' && controllers === '') unified = path;
    else if (controllers === 'name=systemd') systemd = path;
  }
  if (unified === null) return systemd;
  if (systemd === null) return unified;
  return depth(systemd) > depth(unified) ? systemd : unified;
}

function depth(path: string): number {
  return path.split('/').filter((part) => part !== '').length;
}

/** Folders that container managers put their containers in (Docker, Podman, CRI-O, LXC, Kubernetes, nspawn). */
const CONTAINER =
  /(?:^|\/)(?:(?:docker|libpod|crio|cri-containerd|lxc(?:\.payload)?|buildkit)[-/]|lxc\.payload\.|kubepods|machine\.slice\/)/u;

/** Whether a cgroup path is a container's. */
export function isContainerCgroup(path: string): boolean {
  return CONTAINER.test(path);
}
