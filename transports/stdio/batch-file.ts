import { win32 } from 'node:path'

interface Started {
  readonly command: string
  /** Folders of the search, with `;` in between. */
  readonly path: string | undefined
  readonly cwd: string
}

/** What starts a batch file: Node starts none by itself (CVE-2024-27980). */
export interface ShellStart {
  readonly command: string
  readonly args: readonly string[]
  /** The arguments are quoted already. */
  readonly windowsVerbatimArguments: true
}

/** In the order in which Windows looks for them. */
const extensions = ['.com', '.exe', '.bat', '.cmd']

/**
 * The batch file that a command means on Windows, such as `npx`; undefined for a program, and for what is not
 * there. The folder is looked at before the path.
 */
export function batchFileOf(
  { command, path = '', cwd }: Started,
  exists: (file: string) => boolean,
): string | undefined {
  const hasFolder = /[\\/:]/.test(command)
  const folders = hasFolder ? [cwd] : [cwd, ...path.split(';').filter((part) => part !== '')]
  // Windows takes no notice of spaces and dots at the end
  const plain = command.replace(/[ .]+$/, '')
  const endings = win32.extname(plain) === '' ? extensions : ['']
  const places = folders.flatMap((folder) => endings.map((ending) => win32.resolve(folder, plain + ending)))
  const found = places.find(exists)
  return found !== undefined && /\.(?:cmd|bat)$/i.test(found) ? found : undefined
}

/** Why the arguments cannot be given to a batch file, if they cannot. */
export function problemOfArguments(args: readonly string[]): string | undefined {
  const wrong = args.findIndex((arg) => /[\r\n\0]/.test(arg))
  return wrong === -1 ? undefined : `args[${wrong}]: a batch file takes no argument with a line end`
}

/**
 * Starts a batch file in the shell of Windows, so that each argument arrives as it is. `text` is what is in
 * the file: one that passes on all it was given (`%*`), as those do that npm makes, has the shell read it a
 * second time.
 */
export function throughShell(
  { file, args, text }: { readonly file: string; readonly args: readonly string[]; readonly text: string },
  { SystemRoot = 'C:\\Windows' }: NodeJS.ProcessEnv,
): ShellStart {
  const isReadTwice = text.includes('%*')
  const words = args.map((arg) => {
    const once = escaped(quoted(arg))
    return isReadTwice ? escaped(once) : once
  })
  const line = [escaped(win32.normalize(file)), ...words].join(' ')
  // the full path keeps a `cmd.exe` of the current folder out; /s takes away just the outer quotes
  return {
    command: `${SystemRoot}\\System32\\cmd.exe`,
    args: ['/d', '/s', '/c', `"${line}"`],
    windowsVerbatimArguments: true,
  }
}

/** As programs of Windows take a command line apart (CommandLineToArgvW). */
function quoted(arg: string): string {
  return `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}

/** No character means anything to the shell: also quotes, so that it never takes itself to be within some. */
function escaped(text: string): string {
  return text.replace(/[()[\]%!^"`<>&|;, *?]/g, '^$&')
}
