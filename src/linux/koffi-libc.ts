/**
 * The kernel calls through koffi: prebuilt, nothing to compile, about 0.1 us a call on top of the call itself.
 *
 * Pointers are declared `void *` and given typed arrays, which koffi passes by address without a copy.
 */
import { createRequire } from 'node:module';
import { reasonOf } from '../contracts/errors.js';
import type { LoadLibc } from './libc.js';
import { type Binding, type Call, libcOver, type Machine, machineOf } from './libc-calls.js';

type Koffi = typeof import('koffi');

export const loadKoffiLibc: LoadLibc = () => {
  const machine = machineOf();
  if (typeof machine !== 'string') return { ok: false, reason: machine.reason };
  try {
    const koffi = createRequire(import.meta.url)('koffi') as Koffi;
    return { ok: true, libc: libcOver('koffi', bind(koffi, machine)) };
  } catch (thrown) {
    return { ok: false, reason: `koffi cannot be loaded: ${reasonOf(thrown)}` };
  }
};

function bind(koffi: Koffi, machine: Machine): Binding {
  const library = koffi.load(null);
  return {
    declare: (name, parameters, result = 'int') =>
      library.func(name, result, [...parameters]) as unknown as Call,
    errno: koffi.errno as () => number,
    sendmsg: sendmsgBy(koffi),
    view: (address, length) => new Uint8Array(koffi.view(BigInt(address), length)),
    machine,
  };
}

function sendmsgBy(koffi: Koffi): Binding['sendmsg'] {
  // Anonymous types: a second worker thread binds the same names in the same process.
  const vector = koffi.struct({ base: 'void *', length: 'size_t' });
  const message = koffi.struct({
    name: 'void *',
    nameLength: 'size_t',
    vectors: koffi.pointer(vector),
    vectorCount: 'size_t',
    control: 'void *',
    controlLength: 'size_t',
    flags: 'int',
  });
  const sendmsg = koffi
    .load(null)
    .func('sendmsg', 'int64_t', ['int', koffi.pointer(message), 'int']) as unknown as Call;
  return (socket, { bytes, byteCount, control, controlLength, flags }) =>
    sendmsg(
      socket,
      {
        name: null,
        nameLength: 0,
        vectors: [{ base: bytes, length: byteCount }],
        vectorCount: 1,
        control: controlLength === 0 ? null : control,
        controlLength,
        flags: 0,
      },
      flags,
    );
}
