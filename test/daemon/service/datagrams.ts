/** A unix datagram socket that somebody else holds, as a service manager does: Node has none. python3 prints each datagram as JSON. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const program = `
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0', 1))
print('bound', flush=True)
while True:
    print(json.dumps(s.recv(4096).decode()), flush=True)
`;
const lifeMaxSeconds = '30';

export class Datagrams {
  readonly received: string[] = [];
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
    let rest = '';
    process.stdout?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('"')) this.received.push(JSON.parse(line) as string);
    });
  }

  /** @param path `@name` for an abstract one. */
  static async listen(path: string): Promise<Datagrams> {
    const process = spawn('timeout', [lifeMaxSeconds, 'python3', '-c', program, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const datagrams = new Datagrams(process);
    if (process.stdout !== null) await once(process.stdout, 'data');
    return datagrams;
  }

  async count(least: number): Promise<readonly string[]> {
    while (this.received.length < least && this.#process.stdout !== null)
      await once(this.#process.stdout, 'data');
    return this.received;
  }

  async close(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await ended;
  }
}
