/**
 * Puts the files of an installation in place, and takes them away again.
 *
 *   install     for each file: not there, or as we left it ─▶ written; the configuration, changed since ─▶ kept; any other file that
 *               is not ours ─▶ kept and named. Then the record of what lies where is written. A second install changes nothing.
 *   uninstall   every file in the record that is still as we left it is removed, the others are kept and named; then the record
 *
 * The record is what makes both safe: without it nobody could tell an administrator's file from an earlier version's.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import { fillIn, localPlaces, placementsIn } from './placements.js';

export type Outcome = 'written' | 'unchanged' | 'kept' | 'removed' | 'gone';

export interface FileReport {
  readonly path: string;
  readonly outcome: Outcome;
  /** Of `kept`. */
  readonly reason?: string;
}

export interface Installation {
  /** Where the host's files are; `/` for this host. */
  readonly root: string;
  /** The package: absolute, as the host that runs it sees it. */
  readonly prefix: string;
  readonly node: string;
  readonly version: string;
}

interface Record {
  readonly version: string;
  /** Path below the root to the SHA-256 of what we put there. */
  readonly files: Readonly<{ [path: string]: string }>;
}

interface Item {
  readonly path: string;
  readonly content: string;
  readonly kind: 'file' | 'link';
  readonly isConfiguration: boolean;
}

const recordPath = 'usr/local/lib/sfsd/installed.json';

export function install(installation: Installation): readonly FileReport[] {
  const { root, version } = installation;
  const before = readRecord(root);
  const files: { [path: string]: string } = {};
  const reports: FileReport[] = [];
  for (const item of itemsOf(installation)) {
    const report = place(item, { root, known: before.files[item.path] });
    reports.push(report);
    // What is not as we left it stays on the record as it was: a later uninstall must not take it.
    const hash = report.outcome === 'kept' ? before.files[item.path] : hashOf(item.content);
    if (hash !== undefined) files[item.path] = hash;
  }
  write(root, {
    path: recordPath,
    content: `${JSON.stringify({ version, files }, null, 2)}\n`,
    kind: 'file',
  });
  return reports;
}

export function uninstall(root: string): readonly FileReport[] {
  const record = readRecord(root);
  const reports = Object.entries(record.files).map(([path, hash]) => takeAway({ root, path, hash }));
  if (Object.keys(record.files).length > 0) remove(root, recordPath);
  return reports;
}

function itemsOf({ prefix, node }: Installation): readonly Item[] {
  const own = new URL('../../../../', import.meta.url);
  const files = placementsIn(localPlaces).map(({ source, target, isConfiguration }): Item => {
    const content = fillIn(readFileSync(new URL(source, own), 'utf8'), { prefix, node });
    return { path: target, content, kind: 'file', isConfiguration: isConfiguration === true };
  });
  return [
    ...files,
    { path: 'usr/local/bin/sfsd', content: `${prefix}/bin/sfsd`, kind: 'link', isConfiguration: false },
  ];
}

function place(
  item: Item,
  { root, known }: { readonly root: string; readonly known: string | undefined },
): FileReport {
  const { path } = item;
  const found = contentAt(join(root, path));
  if (found === item.content) return { path, outcome: 'unchanged' };
  if (found !== undefined && hashOf(found) !== known) {
    const reason = item.isConfiguration
      ? 'it was changed; what this version brings is in the package, systemd/sfsd.json'
      : 'it is not what an installation put there; remove it, and install again';
    return { path, outcome: 'kept', reason };
  }
  write(root, item);
  return { path, outcome: 'written' };
}

function takeAway(target: {
  readonly root: string;
  readonly path: string;
  readonly hash: string;
}): FileReport {
  const { root, path, hash } = target;
  const found = contentAt(join(root, path));
  if (found === undefined) return { path, outcome: 'gone' };
  if (hashOf(found) !== hash)
    return { path, outcome: 'kept', reason: 'it was changed since it was installed' };
  remove(root, path);
  return { path, outcome: 'removed' };
}

/** By a rename, so that nobody reads half of it. */
function write(root: string, { path, content, kind }: Pick<Item, 'path' | 'content' | 'kind'>): void {
  const target = join(root, path);
  const fresh = `${target}.sfsd-new`;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    rmSync(fresh, { force: true });
    if (kind === 'link') symlinkSync(content, fresh);
    else {
      writeFileSync(fresh, content);
      chmodSync(fresh, 0o644);
    }
    renameSync(fresh, target);
  } catch (thrown) {
    throw refused(target, thrown);
  }
}

/** And the folders that are empty then, up to those that every host has. */
function remove(root: string, path: string): void {
  const target = join(root, path);
  try {
    rmSync(target);
  } catch (thrown) {
    throw refused(target, thrown);
  }
  if (!/\/sfsd$/.test(dirname(path))) return;
  try {
    rmdirSync(dirname(target));
  } catch {} // Others have files in it.
}

function refused(file: string, thrown: unknown): SfsdError {
  const hint = process.getuid?.() === 0 ? '' : '; run it as root, or with --root DIR';
  return new SfsdError('SFSD_ERR_FILE', { file, reason: `${reasonOf(thrown)}${hint}` }, { cause: thrown });
}

/** A file's text, a link's target. */
function contentAt(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return found.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8');
}

function readRecord(root: string): Record {
  const text = contentAt(join(root, recordPath));
  if (text === undefined) return { version: '', files: {} };
  try {
    return JSON.parse(text) as Record;
  } catch (cause) {
    throw new SfsdError(
      'SFSD_ERR_FILE',
      { file: join(root, recordPath), reason: 'it is not JSON' },
      { cause },
    );
  }
}

function hashOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
