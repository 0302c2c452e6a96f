/** Which descriptor a supervisor has handed down. */
import t from 'tap';
import { inheritedSocket } from '../../../src/daemon/service/inherited-socket.js';

const path = '/run/sfsd/sfsd.sock';
const of = (environment: Record<string, string>, bound: string | undefined = path) =>
  inheritedSocket({ environment, pid: 7, path, boundAt: () => bound });

t.test('descriptor 3 is taken only by the process that it is meant for', async (t) => {
  t.equal(of({ LISTEN_PID: '7', LISTEN_FDS: '1' }), 3);
  t.equal(of({ LISTEN_PID: '6', LISTEN_FDS: '1' }), undefined);
  t.equal(of({ LISTEN_PID: '7', LISTEN_FDS: '0' }), undefined);
  t.equal(of({ LISTEN_FDS: '1' }), undefined);
  t.equal(of({}), undefined);
});

t.test('several, and one of another path, are refused with what to change', async (t) => {
  t.throws(() => of({ LISTEN_PID: '7', LISTEN_FDS: '2' }), {
    code: 'SFSD_ERR_FILE',
    message: /ListenStream/,
  });
  t.throws(() => of({ LISTEN_PID: '7', LISTEN_FDS: '1' }, '/run/other.sock'), {
    code: 'SFSD_ERR_FILE',
    message: /other\.sock.*same one/,
  });
});
