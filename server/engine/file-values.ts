import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../protocol/wire/json.js'
import { isTemporary, readIfThere, replaceFile, timeOf, unlinkIfThere } from '../../runtime/base/files.js'
import type { World } from '../../runtime/time/world.js'
import { Turns } from '../base/turns.js'
import { FramedFiles } from './framed.js'
import type { ValueEngine } from './values.js'

const valueFiles = new FramedFiles('caduceus value 1', 'value')
/** Milliseconds between two looks for what has expired. */
const sweepInterval = 3_600_000
/** Milliseconds without a change after which a temporary file belongs to a program that was killed. */
const abandoned = 60_000

/** Values in files (mode 0600), one each, replaced in one step; a damaged one is as none. */
export class FileValues implements ValueEngine {
  readonly #folder: string
  readonly #waitsForDisk: boolean
  readonly #world: World
  readonly #turns = new Turns()
  #sweptAt: number

  /** `waitsForDisk`: whether setting one does (fsync). */
  constructor(folder: string, waitsForDisk: boolean, world: World) {
    this.#folder = folder
    this.#waitsForDisk = waitsForDisk
    this.#world = world
    this.#sweptAt = Number.NEGATIVE_INFINITY
  }

  value(key: string): Promise<string | undefined> {
    const name = valueFiles.nameOf(key)
    return this.#turns.take(name, () => this.#read(name))
  }

  setValue(key: string, was: string | undefined, text: string | undefined, ttl: number): Promise<boolean> {
    const name = valueFiles.nameOf(key)
    this.#sweepSometimes()
    return this.#turns.take(name, async () => {
      if ((await this.#read(name)) !== was) return false
      if (text === undefined) await unlinkIfThere(join(this.#folder, name))
      else await this.#write(name, { text, until: this.#world.date() + ttl })
      return true
    })
  }

  async #write(name: string, value: { readonly text: string; readonly until: number }): Promise<void> {
    const bytes = valueFiles.frame(Buffer.from(JSON.stringify(value)))
    await replaceFile(this.#folder, name, bytes, { durable: this.#waitsForDisk, id: this.#world.id })
  }

  async #read(name: string): Promise<string | undefined> {
    const found = await readIfThere(join(this.#folder, name))
    const payload = found === undefined ? undefined : valueFiles.open(found.bytes)
    const value: unknown = payload === undefined ? undefined : JSON.parse(payload.toString())
    if (!isObject(value) || typeof value.text !== 'string') return undefined
    return Number(value.until) > this.#world.date() ? value.text : undefined
  }

  #sweepSometimes(): void {
    const now = this.#world.now()
    if (now - this.#sweptAt < sweepInterval) return
    this.#sweptAt = now
    // what cannot be looked at now is looked at later
    void this.#sweep().catch(() => {})
  }

  async #sweep(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name)
      if (isTemporary(name)) {
        const at = (await timeOf(path)) ?? Number.POSITIVE_INFINITY
        if (at < this.#world.date() - abandoned) await unlinkIfThere(path)
      } else if (valueFiles.isName(name)) {
        await this.#turns.take(name, async () => {
          if ((await this.#read(name)) === undefined) await unlinkIfThere(path)
        })
      }
    }
  }
}
