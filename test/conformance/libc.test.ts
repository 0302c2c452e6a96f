import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { loadBuiltFfiNapi } from './ffi-napi.js';
import { libcConformance } from './libc.js';

libcConformance('koffi', loadKoffiLibc);
libcConformance('ffi-napi', loadBuiltFfiNapi);
