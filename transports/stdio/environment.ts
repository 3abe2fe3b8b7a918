const posixNames = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER']
const windowsNames = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
]

/**
 * The variables that every server inherits: what programs need to run, and nothing that could be a secret.
 */
export function inheritedNames(platform: NodeJS.Platform = process.platform): readonly string[] {
  return platform === 'win32' ? windowsNames : posixNames
}

/** The whole environment of a server: the inherited variables that are set, and the given ones over them. */
export function serverEnvironment(
  given: Readonly<Record<string, string>>,
  own: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string>> {
  const inherited = inheritedNames().flatMap((name) => {
    const value = own[name]
    // A value that begins with () is a function that bash exported: code, not data.
    return value === undefined || value.startsWith('()') ? [] : [[name, value] as const]
  })
  return Object.freeze({ ...Object.fromEntries(inherited), ...given })
}
