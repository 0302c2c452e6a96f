/**
 * What an installation consists of: which file of the package goes where. The Debian package has the same files below /usr instead of
 * /usr/local (scripts/deb.mjs reads this table), so that a package and an installation by hand are told apart by the place.
 */

export interface Placement {
  /** Below the package's systemd/ or docs/. */
  readonly source: string;
  /** Below the root. */
  readonly target: string;
  /** An administrator changes it: never overwritten once it differs from what we put there. */
  readonly isConfiguration?: true;
}

export interface Places {
  /** `usr/local` or `usr`. */
  readonly base: string;
  /** Below `base`, for what the host's service manager reads. */
  readonly units: string;
}

export const localPlaces: Places = { base: 'usr/local', units: 'usr/local/lib/systemd/system' };
export const packagePlaces: Places = { base: 'usr', units: 'lib/systemd/system' };

export const unitNames = [
  'sfsd.service',
  'sfsd.socket',
  'sfsd-spawner.socket',
  'sfsd-spawner@.service',
] as const;

export function placementsIn({ base, units }: Places): readonly Placement[] {
  return [
    ...unitNames.map((name) => ({ source: `systemd/${name}`, target: `${units}/${name}` })),
    { source: 'systemd/sfsd.sysusers.conf', target: `${base}/lib/sysusers.d/sfsd.conf` },
    { source: 'systemd/sfsd.tmpfiles.conf', target: `${base}/lib/tmpfiles.d/sfsd.conf` },
    { source: 'docs/sfsd.8', target: `${base}/share/man/man8/sfsd.8` },
    { source: 'systemd/sfsd.json', target: 'etc/sfsd/sfsd.json', isConfiguration: true },
  ];
}

/** @param options.prefix where the package lies on the host that runs it. */
export function fillIn(text: string, options: { readonly prefix: string; readonly node: string }): string {
  return text.replaceAll('@PREFIX@', options.prefix).replaceAll('@NODE@', options.node);
}
