import { connect } from 'caduceus/testing'
import { reports } from './reports.js'

await using pair = await connect(reports)

// a program starts a task, and keeps its id
const { task } = await pair.client.tasks.start('report', { year: 2026 })
console.log(task?.status)

// another one, or this one tomorrow, comes back for the result
const { text } = await pair.client.tasks.result(task?.taskId ?? '', { timeout: 600_000 })
console.log(text)

// who needs no id calls the tool: the result is the same
console.log((await pair.client.callTool('report', { year: 2027 }, { task: true })).text)
