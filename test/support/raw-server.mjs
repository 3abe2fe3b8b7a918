// A server on standard input and output that does what a test tells it to, also what no server should.
//   node raw-server.mjs [--init hang|error|junk|die|modern-only|REVISION] [--discover hang|error|ping|die|modern|lone|older|later|again] [--ignore-eof] [--ignore-term] [--say text]
// Every message it gets is named on standard error: `got tools/call hang`, `got notifications/cancelled`.
import { spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { parseArgs } from 'node:util'
import { createRawServer, text, usual } from './raw-answers.mjs'

const { values: options } = parseArgs({
  options: {
    init: { type: 'string', default: usual.init },
    discover: { type: 'string', default: usual.discover },
    'ignore-eof': { type: 'boolean', default: false },
    'ignore-term': { type: 'boolean', default: false },
    say: { type: 'string' },
  },
})

const take = createRawServer(options, {
  write: (text, done) => process.stdout.write(text, done),
  say: (line) => console.error(line),
  exit: (code) => process.exit(code),
  who: () => String(process.pid),
  own: ofPrograms,
})

if (options.say !== undefined) console.error(options.say)
if (options['ignore-term']) process.on('SIGTERM', () => console.error('got SIGTERM'))
// Not node:readline: since Node 24 it takes U+2028 for the end of a line, too.
const input = new EventEmitter()
let unfinished = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (unfinished + chunk).split('\n')
  unfinished = lines.pop()
  for (const line of lines) input.emit('line', line)
})
process.stdin.on('end', () => input.emit('close'))
input.on('line', take)
if (options['ignore-eof']) setInterval(() => {}, 60_000)
else input.on('close', () => process.exit(0))

/** What only a program can do. */
function ofPrograms({ send }) {
  return {
    pid: () => String(process.pid),
    environment: () => JSON.stringify({ env: process.env, cwd: process.cwd() }),
    flood({ lines }) {
      const block = '{}\n'.repeat(10_000)
      for (let i = 0; i < lines; i += 10_000) process.stdout.write(block)
    },
    async floodErrors({ mebibytes }) {
      const block = `${'e'.repeat(1023)}\n`.repeat(1024)
      for (let i = 0; i < mebibytes; i++) await new Promise((resolve) => process.stderr.write(block, resolve))
      return 'flooded'
    },
    grandchild() {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)'], {
        stdio: ['ignore', 'inherit', 'ignore'],
      })
      return String(child.pid)
    },
    deaf(_, id) {
      process.stdin.pause()
      // what is not read keeps no process alive
      setInterval(() => {}, 1_000)
      send({ id, result: text('not listening any more') })
    },
    mute() {
      process.stdout.end()
      setInterval(() => {}, 60_000)
    },
  }
}
