import { closeSync, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skillFile } from '../../protocol/skills/entry.js'
import { messageOf } from '../../runtime/base/errors.js'
import { definitionError, definitionReaders } from '../definitions/definition.js'

export interface FolderFile {
  /** The names of its folders and its own, below the folder that was asked for. */
  readonly path: readonly string[]
  /** Where it lies, for messages. */
  readonly where: string
  readonly bytes: Buffer
}

/** Files, bytes and levels of one folder of skills: it is read into memory at start. */
const maxFiles = 4_096
const maxBytes = 64 * 1024 * 1024
const maxDepth = 32

/** Reads all files below a folder. Throws BAD_DEFINITION, naming the file. */
export function readFolder(given: string | URL): readonly FolderFile[] {
  return new FolderReader(toPath(given)).read()
}

class FolderReader {
  readonly #root: string
  readonly #real: string
  readonly #files: FolderFile[] = []
  #bytes = 0

  constructor(root: string) {
    this.#root = root
    this.#real = attempt(root, () => realpathSync(root))
    if (!attempt(root, () => statSync(root)).isDirectory()) throw problem(`${root}: expected a folder`)
  }

  read(): readonly FolderFile[] {
    const names = this.#names(this.#real)
    // a folder that is a skill itself goes by its own name
    const path = names.includes(skillFile) ? [basename(this.#real)] : []
    this.#walk(this.#real, path, [this.#real])
    return this.#files
  }

  #walk(folder: string, path: readonly string[], above: readonly string[]): void {
    if (above.length > maxDepth) throw problem(`${folder}: more than ${maxDepth} folders inside each other`)
    for (const name of this.#names(folder)) {
      const where = join(folder, name)
      const real = this.#inside(where)
      const stat = attempt(where, () => statSync(real))
      if (stat.isDirectory()) {
        if (above.includes(real)) throw problem(`${where}: the link leads to a folder that it lies in`)
        this.#walk(real, [...path, name], [...above, real])
      } else if (stat.isFile()) this.#take(where, real, [...path, name])
      else throw problem(`${where}: expected a file or a folder`)
    }
  }

  /** Names that begin with a dot belong to tools and editors. */
  #names(folder: string): readonly string[] {
    const names = attempt(folder, () => readdirSync(folder)).filter((name) => !name.startsWith('.'))
    const alike = names.find((name) => name !== skillFile && name.toLowerCase() === skillFile.toLowerCase())
    if (alike !== undefined) throw problem(`${join(folder, alike)}: expected the name ${skillFile}`)
    return names.sort()
  }

  #inside(where: string): string {
    const real = attempt(where, () => realpathSync(where))
    const way = relative(this.#real, real)
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
      throw problem(`${where}: the link leads out of ${this.#root}`)
    return real
  }

  #take(where: string, real: string, path: readonly string[]): void {
    if (this.#files.length === maxFiles) throw problem(`${this.#root}: more than ${maxFiles} files`)
    if (path.some((name) => /\p{Surrogate}/u.test(name)))
      throw problem(`${where}: expected a name in Unicode`)
    const bytes = attempt(where, () => readWithin(real, maxBytes - this.#bytes))
    if (bytes === undefined) throw problem(`${where}: more than ${maxBytes} bytes in all`)
    this.#bytes += bytes.length
    this.#files.push({ path, where, bytes })
  }
}

/** The bytes of a file; undefined if it has more than `most`, also where its size does not say so. */
function readWithin(path: string, most: number): Buffer | undefined {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const parts: Buffer[] = []
    let length = 0
    for (;;) {
      if (size > most || length > most) return undefined
      const part = Buffer.alloc(Math.max(size - length, 4_096))
      const count = readSync(file, part)
      if (count === 0) return Buffer.concat(parts)
      parts.push(part.subarray(0, count))
      length += count
    }
  } finally {
    closeSync(file)
  }
}

function toPath(given: unknown): string {
  const { bad } = definitionReaders('skills')
  if (given instanceof URL && given.protocol === 'file:') return fileURLToPath(given)
  if (typeof given === 'string' && given !== '') return resolve(given)
  throw bad('folder', 'the path of a folder, or its file: URL', given)
}

/** What `work` answers; an error of the file system names the file. */
function attempt<Value>(where: string, work: () => Value): Value {
  try {
    return work()
  } catch (cause) {
    throw problem(`${where} cannot be read: ${messageOf(cause)}`, cause)
  }
}

function problem(text: string, cause?: unknown): Error {
  return definitionError('skills', 'folder', text, cause === undefined ? {} : { cause })
}
