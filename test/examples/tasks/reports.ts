import { defineServer, defineTool, field } from 'caduceus'

const report = defineTool({
  description: 'Writes the report of a year.',
  input: { year: field.integer() },
  task: 'optional',
  run: ({ year }) => `The report of ${year}.`,
})

export const reports = defineServer({ name: 'reports', version: '1.0.0', tools: { report } })
