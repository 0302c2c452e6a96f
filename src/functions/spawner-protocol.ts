/**
 * The spawner's protocol as bytes: the mirror of native/spawner/protocol.h, which documents it. Little endian.
 * A launch is one message: header, limits, NUL-terminated text; a reply is a fixed record in a stream.
 */
import { Buffer } from 'node:buffer';
import { assert } from '../contracts/errors.js';
import type { Credentials } from '../contracts/function.js';

export const protocolVersion = 5;
/** What a spawner behind a socket is told first. */
export const helloBytes = 16;
export const requestHeaderBytes = 48;
export const requestLimitBytes = 24;
export const replyBytes = 96;
export const requestBytesMax = 128 * 1024;
export const argumentsMax = 1024;
export const environmentMax = 1024;
export const cgroupsMax = 8;
export const limitsMax = 16;
export const childrenMax = 32_768;

export const requestKinds = { launch: 1, kill: 2 } as const;
/** Bits of a launch's flags. */
export const launchFlags = { memoryLimited: 1 } as const;
export const replyKinds = { ready: 1, started: 2, failed: 3, exited: 4 } as const;

export const helloOffsets = { version: 0, priority: 4, sessionNice: 8 } as const;
/** Offsets in bytes. */
export const headerOffsets = {
  version: 0,
  kind: 4,
  id: 8,
  uid: 16,
  gid: 20,
  nice: 24,
  signalNumber: 28,
  argumentCount: 32,
  environmentCount: 34,
  cgroupCount: 36,
  limitCount: 38,
  textBytes: 40,
  flags: 44,
} as const;
export const limitOffsets = { resource: 0, soft: 8, hard: 16 } as const;
export const replyOffsets = {
  kind: 0,
  pid: 4,
  id: 8,
  atUs: 16,
  startTime: 24,
  stage: 32,
  errorNumber: 36,
  status: 40,
  realtimeUs: 48,
  userUs: 56,
  systemUs: 64,
  voluntarySwitches: 72,
  involuntarySwitches: 80,
  rssMaxKib: 88,
} as const;

/** Where a launch failed, by the number in the reply; index 0 is not used. */
export const stages = [
  'nothing',
  'reading the request',
  'the bound on children',
  'pipe',
  'fork',
  'the parent check',
  'setting its process group',
  'setting the priority',
  'joining the cgroup',
  'setting limits',
  'placing the standard files',
  'becoming the user',
  'dropping capabilities',
  'entering the working directory',
  'executing the program',
] as const;
export const stageOfDirectory = 13;
export const stageOfExec = 14;

export interface ResourceLimit {
  /** RLIMIT_* of getrlimit(2). */
  readonly resource: number;
  readonly soft: number;
  readonly hard: number;
}

export interface SpawnRequest {
  /** The first names the program; it is looked up in PATH unless it holds a slash. */
  readonly arguments: readonly string[];
  /** `NAME=value` each. */
  readonly environment: readonly string[];
  readonly workingDirectory: string;
  /** The cgroup2 directory in which the child is born. */
  readonly birthplace: string | undefined;
  /** Files to which the child writes itself before it gives up its privileges. */
  readonly cgroupProcsFiles: readonly string[];
  readonly limits: readonly ResourceLimit[];
  /** Whether one of its cgroups has a memory limit of its own: then it must not share the spawner's memory before its exec. */
  readonly memoryLimited: boolean;
  readonly credentials: Credentials;
  readonly nice: number;
}

/** Writes a hello into `into`, `helloBytes` long. */
export function encodeHello(
  into: Buffer,
  { priority, sessionNice }: { readonly priority: number; readonly sessionNice: number },
): void {
  into.writeUInt32LE(protocolVersion, helloOffsets.version);
  into.writeUInt32LE(priority, helloOffsets.priority);
  into.writeUInt32LE(sessionNice, helloOffsets.sessionNice);
}

/** Writes a launch into `into` (at least requestBytesMax long). @returns its length, or undefined when it is too long. */
export function encodeLaunch(into: Buffer, id: number, request: SpawnRequest): number | undefined {
  const { credentials, limits } = request;
  assert(request.arguments.length >= 1, 'a program has a name');
  if (request.arguments.length > argumentsMax || request.environment.length > environmentMax)
    return undefined;
  assert(
    request.cgroupProcsFiles.length <= cgroupsMax && limits.length <= limitsMax,
    'few cgroups and limits',
  );
  writeHeader(into, requestKinds.launch, id);
  into.writeUInt32LE(credentials.uid, headerOffsets.uid);
  into.writeUInt32LE(credentials.gid, headerOffsets.gid);
  into.writeInt32LE(request.nice, headerOffsets.nice);
  into.writeUInt16LE(request.arguments.length, headerOffsets.argumentCount);
  into.writeUInt16LE(request.environment.length, headerOffsets.environmentCount);
  into.writeUInt16LE(request.cgroupProcsFiles.length, headerOffsets.cgroupCount);
  into.writeUInt16LE(limits.length, headerOffsets.limitCount);
  into.writeUInt32LE(request.memoryLimited ? launchFlags.memoryLimited : 0, headerOffsets.flags);
  let end = requestHeaderBytes;
  for (const limit of limits) {
    into.writeUInt32LE(limit.resource, end + limitOffsets.resource);
    into.writeUInt32LE(0, end + 4);
    into.writeBigUInt64LE(BigInt(limit.soft), end + limitOffsets.soft);
    into.writeBigUInt64LE(BigInt(limit.hard), end + limitOffsets.hard);
    end += requestLimitBytes;
  }
  const texts = [
    request.workingDirectory,
    ...request.arguments,
    ...request.environment,
    ...request.cgroupProcsFiles,
    request.birthplace ?? '',
  ];
  const text = Buffer.from(`${texts.join('\0')}\0`);
  if (end + text.length > requestBytesMax) return undefined;
  into.writeUInt32LE(text.length, headerOffsets.textBytes);
  text.copy(into, end);
  return end + text.length;
}

/** @returns its length. */
export function encodeKill(into: Buffer, id: number, signalNumber: number): number {
  writeHeader(into, requestKinds.kill, id);
  into.writeUInt32LE(signalNumber, headerOffsets.signalNumber);
  return requestHeaderBytes;
}

function writeHeader(into: Buffer, kind: number, id: number): void {
  into.fill(0, 0, requestHeaderBytes);
  into.writeUInt32LE(protocolVersion, headerOffsets.version);
  into.writeUInt32LE(kind, headerOffsets.kind);
  into.writeBigUInt64LE(BigInt(id), headerOffsets.id);
}

export interface StartedReply {
  readonly kind: 'started';
  readonly id: number;
  readonly pid: number;
  readonly startTime: string;
  /** CLOCK_MONOTONIC in microseconds: when execve was seen to have succeeded. */
  readonly atUs: number;
  /** CPU time that it has used at the spawner's priority. */
  readonly realtimeUs: number;
}

export interface FailedReply {
  readonly kind: 'failed';
  readonly id: number;
  readonly stage: number;
  readonly errorNumber: number;
}

export interface ExitedReply {
  readonly kind: 'exited';
  readonly id: number;
  readonly pid: number;
  readonly atUs: number;
  /** As wait4 gives it. */
  readonly status: number;
  /** User and system time of the program and the descendants it waited for. */
  readonly cpuUs: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly rssMaxBytes: number;
}

export type Reply =
  | { readonly kind: 'ready'; readonly version: number; readonly pid: number }
  | StartedReply
  | FailedReply
  | ExitedReply;

export function decodeReply(bytes: Buffer, at: number): Reply {
  const word = (offset: number) => bytes.readUInt32LE(at + offset);
  const long = (offset: number) => Number(bytes.readBigUInt64LE(at + offset));
  const kind = word(replyOffsets.kind);
  const id = long(replyOffsets.id);
  const pid = word(replyOffsets.pid);
  switch (kind) {
    case replyKinds.ready:
      return { kind: 'ready', version: pid, pid: id };
    case replyKinds.started:
      return {
        kind: 'started',
        id,
        pid,
        startTime: bytes.readBigUInt64LE(at + replyOffsets.startTime).toString(),
        atUs: long(replyOffsets.atUs),
        realtimeUs: long(replyOffsets.realtimeUs),
      };
    case replyKinds.failed:
      return {
        kind: 'failed',
        id,
        stage: word(replyOffsets.stage),
        errorNumber: word(replyOffsets.errorNumber),
      };
    default:
      assert(kind === replyKinds.exited, `the spawner's reply ${kind} is known`);
      return {
        kind: 'exited',
        id,
        pid,
        atUs: long(replyOffsets.atUs),
        status: word(replyOffsets.status),
        cpuUs: long(replyOffsets.userUs) + long(replyOffsets.systemUs),
        voluntarySwitches: long(replyOffsets.voluntarySwitches),
        involuntarySwitches: long(replyOffsets.involuntarySwitches),
        rssMaxBytes: long(replyOffsets.rssMaxKib) * 1024,
      };
  }
}
