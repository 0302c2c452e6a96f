import { loadKoffiLibc } from '../../src/linux/koffi-libc.js';
import { libcConformance } from './libc.js';

libcConformance('koffi', loadKoffiLibc);
