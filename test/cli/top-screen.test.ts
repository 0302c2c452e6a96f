/** `sfsd top` on a real terminal (tmux): it draws at 80 x 24, follows a resize, and gives the terminal back. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { ContractServer } from './contract-server.js';

const program = join(import.meta.dirname, '../../../bin/sfsd');
const deadlineMs = 15_000;

const tmuxIsThere = spawnSync('tmux', ['-V']).status === 0;

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

t.test(
  'top draws, resizes, quits and restores',
  { skip: tmuxIsThere ? false : 'no tmux here' },
  async (t) => {
    const server = new ContractServer();
    await server.listen();
    const tmuxSocket = join(server.folder, 'tmux.sock');
    const tmux = (...argv: string[]): string =>
      execFileSync('tmux', ['-S', tmuxSocket, '-f', '/dev/null', ...argv], { encoding: 'utf8' });
    t.teardown(() => {
      spawnSync('tmux', ['-S', tmuxSocket, 'kill-server']);
      server.close();
    });
    const seen = async (what: string, holds: (screen: string) => boolean): Promise<string> => {
      const end = Date.now() + deadlineMs;
      for (;;) {
        const screen = tmux('capture-pane', '-p', '-t', 'top');
        if (holds(screen)) return screen;
        if (Date.now() > end) throw new Error(`never on screen: ${what}\n${screen}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };

    tmux('new-session', '-d', '-s', 'top', '-x', '80', '-y', '24', 'env PS1="ready> " sh');
    await seen('the shell', (screen) => screen.includes('ready>'));
    tmux('send-keys', '-t', 'top', `${program} top --interval 100 --socket ${server.socketPath}`, 'Enter');
    const drawn = await seen('rates', (screen) => /arrivals +10\.0/.test(screen));
    t.match(drawn, /^sfsd 0\.1\.0 {3}pid 4242/);
    t.match(drawn, /loop late: p50 0\.031 ms/);
    t.notMatch(drawn, /ready>/, 'on the alternate screen');

    tmux('resize-window', '-t', 'top', '-x', '40', '-y', '20');
    await seen('cut lines', (screen) => /^sfsd 0\.1\.0 .*…$/m.test(screen));

    tmux('send-keys', '-t', 'top', 'q');
    const back = await seen('the shell again', (screen) => screen.trimEnd().endsWith('ready>'));
    t.notMatch(back, /loop late/, 'the view is gone');

    tmux('send-keys', '-t', 'top', 'echo "end=$?"', 'Enter');
    await seen('exit code 0', (screen) => screen.includes('end=0'));
    tmux('send-keys', '-t', 'top', 'stty -a | grep -o " icanon"', 'Enter');
    await seen('a line-editing terminal', (screen) => / icanon$/m.test(screen));
  },
);
