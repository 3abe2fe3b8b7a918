import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineServer, defineTool, field, files } from 'caduceus'
import type { Tasks } from 'caduceus/client'
import { connect } from 'caduceus/testing'

const report = defineTool({
  name: 'report',
  task: 'optional',
  input: { year: field.integer() },
  async run({ year }, ctx) {
    const rows = await ctx.once('rows', () => year * 2) // not done again after a crash
    return `${rows} rows`
  },
})
const reports = defineServer({ name: 'reports', version: '1.0.0', tools: [report] })

// by default tasks are in memory; this engine outlives the program
const engine = files({ folder: mkdtempSync(join(tmpdir(), 'reports-')) })
await using pair = await connect(reports, { server: { engine } })
const { tasks: started }: { tasks: Tasks } = pair.client
const { task } = await started.start('report', { year: 2026 })
const id = task?.taskId ?? '' // keep it: any program of the same user may come back
console.log((await started.result(id)).text)
