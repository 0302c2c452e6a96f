/** Which descriptor a supervisor has handed down. */
import t from 'tap';
import { inheritedSocket } from '../../../src/daemon/service/inherited-socket.js';

t.test('descriptor 3 is taken only by the process that it is meant for', async (t) => {
  t.equal(inheritedSocket({ LISTEN_PID: '7', LISTEN_FDS: '1' }, 7), 3);
  t.equal(inheritedSocket({ LISTEN_PID: '6', LISTEN_FDS: '1' }, 7), undefined);
  t.equal(inheritedSocket({ LISTEN_PID: '7', LISTEN_FDS: '0' }, 7), undefined);
  t.equal(inheritedSocket({ LISTEN_FDS: '1' }, 7), undefined);
  t.equal(inheritedSocket({}, 7), undefined);
});

t.test("several are refused: nobody says which one is the API's", async (t) => {
  t.throws(() => inheritedSocket({ LISTEN_PID: '7', LISTEN_FDS: '2' }, 7), { code: 'SFSD_ERR_FILE' });
});
