import { win32 } from 'node:path'

/** A command as it was to be started. */
export interface Started {
  readonly command: string
  /** Folders of the search, with `;` in between. */
  readonly path: string | undefined
  readonly cwd: string
}

const extensions = ['.cmd', '.bat']

/**
 * The batch file that a command means on Windows; undefined for anything else. `npx`, `npm` and whatever npm
 * installs are such files: Windows looks for `.exe` and `.com` alone, and Node starts none without a shell
 * (CVE-2024-27980), which would read the arguments as code.
 */
export function batchFileOf(
  { command, path = '', cwd }: Started,
  exists: (file: string) => boolean,
): string | undefined {
  // Windows takes no notice of spaces and dots at the end
  if (/\.(?:cmd|bat)[ .]*$/i.test(command)) return command
  if (win32.extname(command) !== '') return undefined
  const folders = /[\\/:]/.test(command) ? [cwd] : [cwd, ...path.split(';').filter((part) => part !== '')]
  const places = folders.flatMap((folder) =>
    extensions.map((extension) => win32.resolve(folder, `${command}${extension}`)),
  )
  return places.find(exists)
}

/** What is wrong with that, and what to do about it. */
export function batchFileProblem(command: string, file: string): string {
  const what = command === file ? command : `${command} (${file})`
  return (
    `${what} is a batch file, which Windows runs in a shell only, and servers are started without one: start the program behind it, ` +
    `such as command: process.execPath with the path of its script first in args, or, where every argument is yours, ` +
    `command: 'cmd.exe' with args: ['/d', '/c', '${win32.basename(command)}', ...]`
  )
}
