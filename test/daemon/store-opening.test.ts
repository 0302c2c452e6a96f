/** Where the store is when nobody says where. */
import { homedir } from 'node:os';
import t from 'tap';
import { defaultStorePath } from '../../src/daemon/store-opening.js';

t.test("a unit's state folder comes first, then root's, then the user's own", async (t) => {
  const path = (environment: Readonly<Record<string, string>>, uid = 1000) =>
    defaultStorePath(environment, uid);
  t.equal(path({ STATE_DIRECTORY: '/var/lib/private/x:/var/lib/y' }), '/var/lib/private/x/sfsd.db');
  t.equal(path({ STATE_DIRECTORY: '/state' }, 0), '/state/sfsd.db');
  t.equal(path({ XDG_STATE_HOME: '/home/a/state' }, 0), '/var/lib/sfsd/sfsd.db');
  t.equal(path({ XDG_STATE_HOME: '/home/a/state' }), '/home/a/state/sfsd/sfsd.db');
  t.equal(path({ XDG_STATE_HOME: 'relative' }), `${homedir()}/.local/state/sfsd/sfsd.db`);
  t.equal(path({}), `${homedir()}/.local/state/sfsd/sfsd.db`);
});
