import fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { sep } from 'node:path'
import type { TestContext } from '../../support/suite.js'

/** What a file store does with the disk; those of a folder are told apart from those of its files. */
export type Step =
  | 'open to write'
  | 'write'
  | 'utimes'
  | 'fsync'
  | 'close'
  | 'close what was read'
  | 'rename'
  | 'open the folder'
  | 'fsync the folder'
  | 'unlink'
  | 'open to read'
  | 'stat'
  | 'read'
  | 'readdir'

/** A disk whose steps below one folder fail as a test says, or wait. */
export interface FailingDisk {
  /** Steps so far, in their order. */
  readonly steps: Step[]
  /** From now on these steps fail, until `mend`. */
  fail(code: string, ...steps: readonly Step[]): void
  mend(): void
}

/**
 * Takes the place of the file system for what is below this folder, until the test ends. Tests that use it run
 * one after the other.
 */
export function failDisk(t: Pick<TestContext, 'after'>, folder: string): FailingDisk {
  const real = { ...fs.promises }
  const steps: Step[] = []
  let failing: { readonly code: string; readonly steps: readonly Step[] } | undefined
  const isBelow = (path: unknown) => path === folder || String(path).startsWith(folder + sep)

  function step(name: Step): void {
    steps.push(name)
    if (!failing?.steps.includes(name)) return
    throw Object.assign(new Error(`${failing.code}: ${name}`), { code: failing.code, syscall: name })
  }

  function wrap(file: FileHandle, opened: Step): FileHandle {
    const own = {
      write: file.writeFile,
      utimes: file.utimes,
      sync: file.sync,
      close: file.close,
      read: file.readFile,
    }
    const around = {
      writeFile: async (bytes: Buffer) => {
        const isWhole = !failing?.steps.includes('write')
        await own.write.call(file, isWhole ? bytes : bytes.subarray(0, bytes.length / 2))
        step('write')
      },
      utimes: async (...times: Parameters<FileHandle['utimes']>) => {
        step('utimes')
        await own.utimes.apply(file, times)
      },
      sync: async () => {
        step(opened === 'open the folder' ? 'fsync the folder' : 'fsync')
        await own.sync.call(file)
      },
      close: async () => {
        await own.close.call(file)
        step(opened === 'open to write' ? 'close' : 'close what was read')
      },
      readFile: async () => {
        step('read')
        return own.read.call(file)
      },
    }
    return Object.assign(file, around)
  }

  Object.assign(fs.promises, {
    open: async (path: string, flags: string | number, mode?: number) => {
      if (!isBelow(path)) return real.open(path, flags, mode)
      const opened =
        path === folder
          ? 'open the folder'
          : typeof flags === 'number' || flags === 'r'
            ? 'open to read'
            : 'open to write'
      step(opened)
      return wrap(await real.open(path, flags, mode), opened)
    },
    rename: async (from: string, to: string) => {
      if (isBelow(to)) step('rename')
      await real.rename(from, to)
    },
    unlink: async (path: string) => {
      if (isBelow(path)) step('unlink')
      await real.unlink(path)
    },
    stat: async (path: string) => {
      if (isBelow(path)) step('stat')
      return real.stat(path)
    },
    readdir: async (path: string) => {
      if (isBelow(path)) step('readdir')
      return real.readdir(path)
    },
  })
  syncBuiltinESMExports()
  t.after(() => {
    Object.assign(fs.promises, real)
    syncBuiltinESMExports()
  })
  return {
    steps,
    fail(code, ...names) {
      failing = { code, steps: names }
    },
    mend() {
      failing = undefined
    },
  }
}
