#!/usr/bin/env node
import * as modules from 'node:module'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { messageOf } from '../runtime/base/errors.js'
import { didYouMean } from '../runtime/base/near.js'
import { version } from '../runtime/base/version.js'
import { commands } from './commands.js'
import { cacheFolder } from './hosts/folders.js'
import { helpOf, overview } from './help.js'
import { complain } from './terminal/complain.js'
import type { Invocation } from './base/invocation.js'
import { guardOutput, outputFailed, print } from './terminal/screen.js'
import { exitCodes, UsageError } from './base/usage-error.js'

/** Milliseconds that what is still open has after a failure: a module of a user may have started anything. */
const exitTimeout = 1_000

/** What other programs call these commands. */
const otherNames = {
  run: 'serve',
  start: 'serve',
  proxy: 'serve',
  inspect: 'list',
  tools: 'list',
  install: 'add',
  init: 'add',
  uninstall: 'remove',
  inspector: 'observe',
}

guardOutput()
keepCompiled()
void main(process.argv.slice(2)).then((code) => {
  if (!outputFailed.aborted) process.exitCode = code
  if (process.exitCode !== exitCodes.ok) setTimeout(() => process.exit(), exitTimeout).unref()
})

/**
 * What V8 has compiled is kept for the next start, from Node 22.8 on. The folder is the user's own: Node's
 * default is one of all users, and whoever makes it first could plant code there. Where it cannot be made,
 * nothing is kept.
 */
function keepCompiled(): void {
  const { enableCompileCache } = modules as { enableCompileCache?: (folder: string) => unknown }
  const { platform, env } = process
  const home = env.HOME ?? env.USERPROFILE
  if (home !== undefined && env.NODE_COMPILE_CACHE === undefined)
    enableCompileCache?.(cacheFolder({ platform, env, home }))
}

async function main(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--')
  // what stands behind it is meant for somebody else
  const own = end < 0 ? args : args.slice(0, end)
  const asJson = own.includes('--json')
  try {
    return await run(args)
  } catch (error) {
    // what is given takes the place of a login
    const hasToken = args.some((arg) => /^(?:--header=)?authorization\s*:/i.test(arg))
    const isVerbose = own.includes('--verbose')
    return complain(error, asJson, { canLogIn: args[0] !== 'login' && !hasToken, isVerbose })
  }
}

async function run([word, ...args]: readonly string[]): Promise<number> {
  if (word === '--version' || word === 'version') {
    if (args.length === 0) return say(version)
    throw new UsageError(`${word}: expected nothing behind it, got ${args.join(' ')}`)
  }
  if (word === undefined || word === '--help' || word === '-h' || word === 'help') {
    const [about] = args
    if (about === undefined || about.startsWith('-')) return say(overview())
    commandOf(about)
    return say(helpOf(about))
  }
  const command = commandOf(word)
  const at = args.indexOf('--')
  const own = at < 0 ? args : args.slice(0, at)
  const started = at < 0 ? undefined : args.slice(at + 1)
  if (own.includes('--help') || own.includes('-h')) return say(helpOf(word))
  const { values, positionals } = parse(word, own, command.options)
  if (started !== undefined && command.startsServer === false)
    throw new UsageError(`caduceus ${word} takes no -- command`)
  const { run: start } = await command.load()
  return await start({ word, positionals, values: values as Invocation['values'], started })
}

function commandOf(word: string) {
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (command !== undefined) return command
  throw new UsageError(
    `${word} is no command${didYouMean(word, Object.keys(commands), otherNames)}: run caduceus --help for all`,
  )
}

function parse(word: string, args: readonly string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || !code.startsWith('ERR_PARSE_ARGS')) throw error
    const known = Object.keys(options).map((name) => `--${name}`)
    const unknown = args.find((arg) => arg.startsWith('-') && !known.includes(arg.replace(/=.*/s, '')))
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && unknown !== undefined) {
      // what others call it
      const isPort = /^(--port|-p)\b/.test(unknown) && known.includes('--http')
      const meant = isPort ? ' (did you mean "--http"?)' : didYouMean(unknown, known)
      throw new UsageError(`${unknown} is no option of caduceus ${word}${meant}: it has ${known.join(', ')}`)
    }
    throw new UsageError(`caduceus ${word}: ${messageOf(error).split('. ')[0]}`)
  }
}

function say(text: string): number {
  print(`${text}\n`)
  return exitCodes.ok
}
