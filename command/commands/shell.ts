import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline/promises'
import type { Client } from 'caduceus'
import { didYouMean } from '../../runtime/base/near.js'
import { callTool } from './call.js'
import { connected, samplingOf, startTarget } from '../connection/connect.js'
import { complain } from '../terminal/complain.js'
import { dataFolder } from '../hosts/folders.js'
import type { Invocation } from '../base/invocation.js'
import { type Inventory, inventoryText, takeInventory } from './list.js'
import { contentText, printAs } from '../terminal/output.js'
import { terminalAnswers } from '../terminal/questions.js'
import { unsteered } from '../../runtime/base/steering.js'
import { oneLine, print, tell } from '../terminal/screen.js'
import { listenForStop } from '../terminal/stopping.js'
import { readTarget, surroundingsOf } from '../connection/target.js'
import { splitWords } from '../terminal/split-words.js'
import { splitPair } from './tool-arguments.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

const words: Readonly<Record<string, string>> = {
  list: 'what the server has',
  call: '<tool> [json | name=value ...]; the name of a tool alone does, too',
  read: '<uri>',
  prompt: '<prompt> [name=value ...]',
  help: 'this list',
  exit: 'or Ctrl-D',
}

/** Lines of the history that are kept in mind. */
const maxHistory = 1_000

/** Talks to one server, line by line; what it asks meanwhile is asked at the same terminal. */
export async function run(invocation: Invocation): Promise<number> {
  const sampling = await samplingOf(invocation)
  const target = await readTarget(invocation)
  const history = new History(dataFolder(surroundingsOf()))
  const seen: { inventory: Inventory | undefined } = { inventory: undefined }
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    history: history.read(),
    historySize: maxHistory,
    removeHistoryDuplicates: true,
    completer: (line: string) => complete(line, seen.inventory),
  })
  const input = new Lines(lines)
  const answers = terminalAnswers(
    (question) => input.ask(question),
    (line) => print(`${line}\n`),
  )
  const client = startTarget(target, invocation, { ...answers, ...sampling })
  const over = new AbortController()
  const stop = listenForStop()
  let call = new AbortController()
  // Ctrl-C gives a call, or the start, up; where nothing runs it ends the shell
  lines.on('SIGINT', () => {
    if (input.isWaiting && !input.isAsking) return lines.close()
    call.abort(new Error('Ctrl-C'))
    over.abort(new Error('Ctrl-C'))
  })
  // Ctrl-C of a terminal comes to the lines, and not as a signal
  stop.signal.addEventListener('abort', () => {
    call.abort(stop.signal.reason)
    over.abort(stop.signal.reason)
    lines.close()
  })
  try {
    await connected(client, over.signal)
    seen.inventory = await takeInventory(client)
    for (const list of ['tools', 'resources', 'prompts'] as const)
      client.onNotification(`notifications/${list}/list_changed`, () => {
        takeInventory(client).then(
          (inventory) => {
            seen.inventory = inventory
          },
          () => {}, // the next change is another chance
        )
      })
    if (process.stdin.isTTY)
      print(`${oneLine(client.server?.info.name ?? target.name)}: help lists what can be typed\n`)
    for (;;) {
      const line = await input.ask(process.stdin.isTTY ? '> ' : '', true)
      if (line === undefined || line.trim() === 'exit') return stop.code ?? exitCodes.ok
      if (line.trim() === '') continue
      history.add(line)
      call = new AbortController()
      await act(line, client, { invocation, signal: call.signal }).catch((error: unknown) =>
        complain(error, invocation.values.json === true, { isVerbose: invocation.values.verbose === true }),
      )
    }
  } catch (error) {
    if (stop.code !== undefined) return stop.code
    throw error
  } finally {
    lines.close()
    await client.close()
    await target.end()
    stop.release()
  }
}

interface Acting {
  readonly invocation: Invocation
  readonly signal: AbortSignal
}

async function act(line: string, client: Client, acting: Acting): Promise<void> {
  const { invocation, signal } = acting
  const [word = '', ...others] = splitWords(line)
  const [name, ...rest] = others
  switch (word) {
    case 'help':
      for (const [command, about] of Object.entries(words)) print(`  ${command.padEnd(8)}${about}\n`)
      return
    case 'list': {
      const { failed, ...inventory } = await takeInventory(client)
      for (const problem of failed) tell(problem)
      return printAs(invocation, inventory, () => inventoryText(inventory))
    }
    case 'read': {
      const result = await client.readResource(required(name, 'read <uri>'), { signal })
      return printAs(invocation, result, () => contentText(result.contents))
    }
    case 'prompt': {
      const given = Object.fromEntries(rest.map(splitPair))
      const result = await client.getPrompt(required(name, 'prompt <prompt>'), given, { signal })
      const text = () => result.messages.map((one) => `${one.role}: ${contentText([one.content])}`).join('\n')
      return printAs(invocation, result, text)
    }
    case 'call':
      return void (await callTool(client, required(name, 'call <tool>'), rest, acting))
    default: {
      const tools: string[] = []
      for await (const tool of client.tools()) tools.push(tool.name)
      if (!tools.includes(word))
        throw new UsageError(
          `${word} is no command and no tool${didYouMean(word, [...Object.keys(words), ...tools])}`,
        )
      await callTool(client, word, others, acting)
    }
  }
}

function required(word: string | undefined, usage: string): string {
  if (word !== undefined) return word
  throw new UsageError(`expected ${usage}`)
}

/** The words that may stand where the cursor is. */
export function complete(line: string, inventory: Inventory | undefined): [string[], string] {
  const typed = line.split(' ')
  const last = typed.at(-1) ?? ''
  const tools = inventory?.tools.map(({ name }) => name) ?? []
  const [first = '', second = ''] = typed
  const tool = inventory?.tools.find(({ name }) => name === (first === 'call' ? second : first))
  const names = Object.keys(tool?.inputSchema.properties ?? {}).map((name) => `${name}=`)
  const candidates =
    typed.length === 1
      ? [...Object.keys(words), ...tools]
      : typed.length > 2 || first !== 'call'
        ? first === 'read'
          ? (inventory?.resources.map(({ uri }) => uri) ?? [])
          : first === 'prompt'
            ? (inventory?.prompts.map(({ name }) => name) ?? [])
            : names
        : tools
  // what cannot be typed is not offered
  return [candidates.filter((word) => word.startsWith(last) && oneLine(word) === word), last]
}

/** Lines of the terminal: a question of the server comes before the next command. */
class Lines {
  readonly #lines: Interface
  readonly #waiting: string[] = []
  readonly #askers: ((line: string | undefined) => void)[] = []
  #isClosed = false
  isAsking = false

  constructor(lines: Interface) {
    this.#lines = lines
    // what is piped comes faster than it is worked off
    lines.on('line', (line) => {
      const asker = this.#askers.shift()
      if (asker === undefined) this.#waiting.push(line)
      else asker(line)
    })
    lines.once('close', () => {
      this.#isClosed = true
      for (const asker of this.#askers.splice(0)) asker(undefined)
    })
  }

  get isWaiting(): boolean {
    return this.#askers.length > 0
  }

  /** Undefined at the end of the input. */
  async ask(question: string, isCommand = false): Promise<string | undefined> {
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) return waiting
    if (this.#isClosed) return undefined
    this.isAsking = !isCommand
    this.#lines.setPrompt(unsteered(question))
    if (question !== '') this.#lines.prompt()
    const line = await new Promise<string | undefined>((resolve) => this.#askers.push(resolve))
    this.isAsking = false
    return line
  }
}

/** Lines typed before, in a file of mode 0600. */
class History {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The newest first. */
  read(): string[] {
    try {
      const lines = readFileSync(join(this.#folder, 'history'), 'utf8').trimEnd().split('\n')
      return lines.slice(-maxHistory).reverse()
    } catch {
      return [] // the first time
    }
  }

  add(line: string): void {
    if (!process.stdin.isTTY) return
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      appendFileSync(join(this.#folder, 'history'), `${line}\n`, { mode: 0o600 })
    } catch {
      // a home that cannot be written costs the history, and nothing else
    }
  }
}
