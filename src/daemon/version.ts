/** The version in package.json: the one place that has it. */
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
  return version;
}
