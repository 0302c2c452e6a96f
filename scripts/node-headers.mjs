// Where the headers of this very Node are: its official archives, container images and most packages ship them beside it; Debian's
// own package has them in libnode-dev. They are never downloaded.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @returns the folder that holds node.h, or what to do. */
export function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath));
  const folders = [
    ...new Set([join(prefix, 'include/node'), '/usr/include/nodejs/src', '/usr/include/node']),
  ];
  const abi = process.versions.modules;
  const folder = folders.find((candidate) => abiOf(candidate) === abi);
  if (folder !== undefined) return { folder };
  const reason = `SFSD_ERR_MISSING_TOOL: no headers of Node ${process.version} (ABI ${abi}) in ${folders.join(', ')}. Use a Node that
ships them (any archive or container image of nodejs.org does), or install Debian's libnode-dev beside its nodejs.`;
  return { reason };
}

function abiOf(folder) {
  try {
    const text = readFileSync(join(folder, 'node_version.h'), 'utf8');
    return /^#define NODE_MODULE_VERSION (\d+)$/m.exec(text)?.[1];
  } catch {
    return undefined;
  }
}
