import type { ParseArgsConfig } from 'node:util'
import type { Run } from './base/invocation.js'
import { settingMeanings, settingOptions } from './serving/settings.js'

/** One command: how it is called, and the file that does it, which is loaded when it is called. */
interface Command {
  readonly usage: string
  readonly summary: string
  readonly options: NonNullable<ParseArgsConfig['options']>
  /** False: `-- command` means nothing to it. */
  readonly startsServer?: false
  /** What an option means here, where that is not what it means elsewhere. */
  readonly meanings?: Readonly<Record<string, string>>
  readonly load: () => Promise<{ readonly run: Run }>
}

const asJson = { json: { type: 'boolean' } } as const
const target = {
  ...asJson,
  config: { type: 'string' },
  header: { type: 'string', multiple: true },
  env: { type: 'string', multiple: true },
  input: { type: 'string', multiple: true },
  timeout: { type: 'string' },
  era: { type: 'string' },
  sampling: { type: 'string' },
  verbose: { type: 'boolean' },
} as const
const toFile = { output: { type: 'string' }, force: { type: 'boolean' } } as const

/** What each option means, for the help. */
export const meanings: Readonly<Record<string, string>> = {
  json: 'prints JSON, for programs; errors, too',
  config: "FILE: the host's file that the name is looked up in",
  header: "'NAME: VALUE': sent with every request; may be given several times",
  env: 'NAME=VALUE: given to the server that is started; may be given several times',
  input: 'ID=VALUE: the value of an input that the file names; may be given several times',
  timeout: 'MS: how long a request may take; default 60000',
  era: 'auto, modern (2026-07-28) or handshake; default auto',
  sampling:
    "'COMMAND': answers what the server asks a model: JSON on standard input, a text or a result on standard output",
  verbose: 'shows what the server writes to standard error, the log, and where an error comes from',
  output: 'FILE: where it is written to',
  force: 'replaces a file that is there already',
  'no-browser': 'prints the address to sign in at, and opens nothing',
  stdio: 'speaks over standard input and output',
  lazy: 'the servers of the file are started by their first use, and end after 10 minutes without one',
  processes: 'N: so many processes serve',
  audit:
    'FILE: a line of JSON for each call, read and prompt; also CADUCEUS_AUDIT, and caduceus.audit of the file',
  file: 'FILE: the file of a host; default mcp.json',
  transport: 'http, sse or ws; default: by the URL',
  yes: 'accepts without a question, for scripts',
  'base-url': 'URL: where the API is; default: what its document says',
  include: 'a tag, operation or path of the API that is served; may be given several times',
  exclude: 'one that is not; may be given several times',
}

/** All commands, by name. */
export const commands: Readonly<Record<string, Command>> = {
  list: {
    usage: 'list [target]',
    summary: 'what a server has; without a target, the servers of the files of hosts',
    options: target,
    load: () => import('./commands/list.js'),
  },
  call: {
    usage: 'call <target> <tool> [json | @file | -] [name=value | name=@file ...]',
    summary: 'calls a tool; - reads standard input',
    options: { ...target, ...toFile },
    meanings: {
      output:
        'FILE: images, audio and other bytes of the result go there, else its text; several are numbered',
    },
    load: () => import('./commands/call.js'),
  },
  read: {
    usage: 'read <target> <uri>',
    summary: 'reads a resource',
    options: { ...target, ...toFile },
    load: () => import('./commands/read.js'),
  },
  prompt: {
    usage: 'prompt <target> <prompt> [name=value ...]',
    summary: 'the messages of a prompt',
    options: target,
    load: () => import('./commands/prompt.js'),
  },
  complete: {
    usage: 'complete <target> <prompt or uri template> [name=value ...] name=start',
    summary: 'values that an argument may have',
    options: target,
    load: () => import('./commands/complete.js'),
  },
  completion: {
    usage: 'completion <bash | zsh | fish>',
    summary: 'the script that has a shell complete commands, servers, tools and options',
    options: {},
    load: async () => ({ run: (await import('./commands/completion.js')).completionOf(commands) }),
  },
  check: {
    usage: 'check <target>',
    summary: 'handshake, lists, schemas, latency: what a host would stumble over',
    options: target,
    load: () => import('./commands/check.js'),
  },
  types: {
    usage: 'types <target>',
    summary: 'the types of its tools, as TypeScript: startClient<Name>(...)',
    options: { ...target, output: { type: 'string' } },
    load: () => import('./commands/types.js'),
  },
  login: {
    usage: 'login <url>',
    summary: 'signs in; later calls to this address use it',
    options: {
      ...asJson,
      ...{ timeout: { type: 'string' }, 'no-browser': { type: 'boolean' }, verbose: target.verbose },
    },
    meanings: { timeout: 'MS: how long the person has; default 300000' },
    startsServer: false,
    load: () => import('./commands/login.js'),
  },
  logout: {
    usage: 'logout <url>',
    summary: 'forgets the login for this address',
    options: { ...asJson, verbose: target.verbose },
    startsServer: false,
    load: () => import('./commands/logout.js'),
  },
  serve: {
    usage: 'serve <module, file of a host or OpenAPI> [--http PORT | --stdio] [options]',
    summary: 'serves the server of a module, all servers of a file as one, or an API',
    options: {
      stdio: { type: 'boolean' },
      lazy: { type: 'boolean' },
      processes: { type: 'string' },
      ...settingOptions(),
      audit: { type: 'string' },
      'base-url': { type: 'string' },
      include: { type: 'string', multiple: true },
      exclude: { type: 'string', multiple: true },
      ...{ input: target.input, verbose: target.verbose },
    },
    meanings: settingMeanings(),
    startsServer: false,
    load: () => import('./commands/serve.js'),
  },
  trust: {
    usage: 'trust <server> [--file mcp.json] [--yes]',
    summary: 'shows what has changed in the definitions of a server, and accepts it (pin)',
    options: {
      ...asJson,
      file: { type: 'string' },
      yes: { type: 'boolean' },
      ...{ timeout: target.timeout, env: target.env, input: target.input, verbose: target.verbose },
    },
    startsServer: false,
    load: () => import('./commands/trust.js'),
  },
  add: {
    usage: 'add <name> <url> | add <name> -- <command> [arguments]',
    summary: 'writes a server into the file of a host',
    options: {
      ...asJson,
      ...{ file: { type: 'string' }, env: target.env, header: target.header },
      ...{ transport: { type: 'string' }, force: { type: 'boolean' } },
    },
    meanings: {
      env: "NAME=VALUE: a variable of the server; '${NAME}' is read when it is started; several times",
      header: "'NAME: VALUE': sent with every request; may be given several times",
      force: 'replaces a server of this name',
    },
    load: () => import('./commands/add.js'),
  },
  remove: {
    usage: 'remove <server>',
    summary: 'takes a server out of the file of a host',
    options: { ...asJson, file: { type: 'string' } },
    startsServer: false,
    load: () => import('./commands/remove.js'),
  },
  config: {
    usage: 'config [get [path] | set <path> <value> | unset <path>]',
    summary: 'shows or changes a value of the file of a host, such as caduceus.listen.port',
    options: { ...asJson, file: { type: 'string' } },
    startsServer: false,
    load: () => import('./commands/config.js'),
  },
  dev: {
    usage: 'dev <module> [options]',
    summary: 'serves a module, and loads it anew when a file changes; sessions go on',
    options: settingOptions(),
    meanings: settingMeanings(),
    startsServer: false,
    load: () => import('./commands/dev.js'),
  },
  observe: {
    usage: 'observe [program]',
    summary: 'the process trees of a program that runs on this machine, live',
    options: { ...asJson, timeout: target.timeout },
    meanings: { timeout: 'MS: how long the program may take to answer; default 10000' },
    startsServer: false,
    load: () => import('./commands/observe.js'),
  },
  shell: {
    usage: 'shell <target>',
    summary: 'talks to a server line by line, with history and completion',
    options: target,
    load: () => import('./commands/shell.js'),
  },
}
