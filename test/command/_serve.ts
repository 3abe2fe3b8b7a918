// A program that serves, and what tests do with it.
import { spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { type Client, http, startClient } from 'caduceus'
import { inRoot } from '../support/root.js'
import type { TestContext } from '../support/suite.js'
import { environmentOf, program } from './_caduceus.js'

const library = pathToFileURL(inRoot('.t', 'index.js')).href

/** The text of a module with one tool that says `word`. */
export function moduleText(word: string, tools = 'say'): string {
  return `import { defineServer, defineTool } from ${JSON.stringify(library)}
const say = defineTool({ name: 'say', run: () => ${JSON.stringify(word)} })
const more = defineTool({ name: 'more', run: () => 'more' })
export default defineServer({ name: 'module', version: '1.0.0', tools: [${tools}] })
`
}

/** A program that runs until the test ends: `line` waits for what it tells, `stop` sends SIGTERM and waits for the exit code. */
export function begin(
  t: TestContext,
  args: readonly string[],
  home: string,
  variables: Readonly<Record<string, string>> = {},
) {
  const env = { ...environmentOf(home), ...variables }
  const child = spawn(process.execPath, [program, ...args], { cwd: home, env })
  t.after(() => child.kill('SIGKILL'))
  let told = ''
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const line = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (chunk: string | Buffer = ''): void => {
        told += chunk
        const found = pattern.exec(told)
        if (found === null) return
        told = told.slice(found.index + found[0].length)
        clearTimeout(timer)
        child.stderr.off('data', look)
        resolve(found)
      }
      const timer = setTimeout(() => reject(new Error(`${pattern} is not told, but: ${told}`)), patience)
      child.stderr.on('data', look)
      void ended.then(() => reject(new Error(`ended, and told: ${told}`)))
      look()
    })
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM')
    return ended
  }
  return { line, stop, child, ended }
}

export function connectTo(t: TestContext, url: string): Client {
  const client = startClient({ transport: http(url), logger: false })
  t.after(() => client.close())
  return client
}

/** Ms until a line is given up, which then says what came instead. */
const patience = 40_000

export const servedAt = /is served at (\S+)/
