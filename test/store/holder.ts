/** Opens the store named first, puts as many functions as are asked for one by one, and stays until it is killed. */
import { writeSync } from 'node:fs';
import { open, put } from './files.js';

const [path = '', count = '0'] = process.argv.slice(2);
const file = open(path);
writeSync(1, `pid ${process.pid}\n`);
for (let index = 0; index < Number(count); index += 1) {
  put(file, `f${index}`);
  writeSync(1, `f${index}\n`);
}
setInterval(() => {}, 1000);
