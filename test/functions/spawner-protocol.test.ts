/** The two mirrors of the spawner's protocol say the same. */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import {
  argumentsMax,
  cgroupsMax,
  childrenMax,
  decodeReply,
  encodeLaunch,
  environmentMax,
  headerOffsets,
  helloBytes,
  helloOffsets,
  launchFlags,
  limitOffsets,
  limitsMax,
  protocolVersion,
  replyBytes,
  replyKinds,
  replyOffsets,
  requestBytesMax,
  requestHeaderBytes,
  requestLimitBytes,
  type SpawnRequest,
  stageOfExec,
} from '../../src/functions/spawner-protocol.js';
import { spawnerPath } from './support.js';

/** `name offset size` or `name value`, as the C program prints its own layout. */
const layout = new Map(
  execFileSync(spawnerPath, ['--layout'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', ...numbers] = line.split(' ');
      return [name, numbers.map(Number)] as const;
    }),
);

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

t.test('sizes and bounds are those of protocol.h', async (t) => {
  const ours = {
    version: protocolVersion,
    hello: helloBytes,
    header: requestHeaderBytes,
    limit: requestLimitBytes,
    reply: replyBytes,
    requestMax: requestBytesMax,
    argumentsMax,
    environmentMax,
    cgroupsMax,
    limitsMax,
    childrenMax,
    'stage.exec': stageOfExec,
    'flag.memoryLimited': launchFlags.memoryLimited,
  };
  for (const [name, value] of Object.entries(ours)) t.same(layout.get(name), [value], name);
});

t.test('every field lies where protocol.h puts it', async (t) => {
  const structs = { hello: helloOffsets, header: headerOffsets, limit: limitOffsets, reply: replyOffsets };
  let fields = 0;
  for (const [struct, offsets] of Object.entries(structs)) {
    for (const [field, offset] of Object.entries(offsets)) {
      t.equal(layout.get(`${struct}.${snake(field)}`)?.[0], offset, `${struct}.${field}`);
      fields++;
    }
  }
  const theirs = [...layout.keys()].filter((name) => /^(hello|header|limit|reply)\./.test(name));
  t.equal(fields, theirs.length, 'neither side has a field more');
});

const request: SpawnRequest = {
  arguments: ['program', ''],
  environment: ['A=1'],
  workingDirectory: '/',
  birthplace: undefined,
  cgroupProcsFiles: [],
  limits: [{ resource: 7, soft: 1024, hard: 4096 }],
  memoryLimited: false,
  credentials: { uid: 1, gid: 2 },
  nice: -5,
};

t.test('a launch is header, limits and text', async (t) => {
  const bytes = Buffer.alloc(requestBytesMax);
  const length = encodeLaunch(bytes, 7, request) ?? 0;
  const text = bytes.subarray(requestHeaderBytes + requestLimitBytes, length).toString();
  t.equal(text, '/\0program\0\0A=1\0\0');
  t.equal(bytes.readUInt32LE(headerOffsets.textBytes), text.length);
  t.equal(bytes.readInt32LE(headerOffsets.nice), -5);
  t.equal(bytes.readUInt32LE(headerOffsets.flags), 0);
  encodeLaunch(bytes, 7, { ...request, memoryLimited: true });
  t.equal(bytes.readUInt32LE(headerOffsets.flags), launchFlags.memoryLimited);
});

t.test('a launch beyond the bounds is refused, not cut', async (t) => {
  const bytes = Buffer.alloc(requestBytesMax);
  const long = { ...request, arguments: ['a'.repeat(requestBytesMax)] };
  t.equal(encodeLaunch(bytes, 1, long), undefined);
  const many = { ...request, environment: Array.from({ length: environmentMax + 1 }, () => 'A=1') };
  t.equal(encodeLaunch(bytes, 1, many), undefined);
});

t.test('a start time beyond 2^53 keeps all its digits', async (t) => {
  const bytes = Buffer.alloc(replyBytes);
  bytes.writeUInt32LE(replyKinds.started, replyOffsets.kind);
  bytes.writeBigUInt64LE(9007199254740993n, replyOffsets.startTime);
  t.match(decodeReply(bytes, 0), { kind: 'started', startTime: '9007199254740993' });
});
