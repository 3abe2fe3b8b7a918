import { pbkdf2Sync } from 'node:crypto'
import { defineServer, defineTool, field } from '../../../index.js'

/** The server that is measured. */
const server = defineServer({
  name: 'bench',
  version: '1.0.0',
  tools: {
    echo: defineTool({ input: { text: field.string() }, run: ({ text }) => text }),
    /** Computes for so many rounds. */
    work: defineTool({ input: { rounds: field.integer() }, run: ({ rounds }) => compute(rounds) }),
    pid: defineTool({ run: () => String(process.pid) }),
  },
})

export { compute, server as default }

function compute(rounds: number): string {
  return pbkdf2Sync('a', 'b', rounds, 16, 'sha256').toString('hex')
}
