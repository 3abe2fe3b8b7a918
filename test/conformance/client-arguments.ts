import type { ElicitResult, JsonObject, Tool } from 'caduceus/protocol'

/** What a user who reads the list of tools would call this one with. */
export function argumentsFor(tool: Tool, tools: readonly Tool[]): Record<string, unknown> {
  if (tool.name === 'json_schema_echo') return { schema: observedSchema(tools) }
  return valuesFor(tool.inputSchema as JsonObject)
}

/** Values for the fields of a form that have none yet. */
export function fieldsFor(schema: object): NonNullable<ElicitResult['content']> {
  return valuesFor(schema as JsonObject) as NonNullable<ElicitResult['content']>
}

/** The description of `json_schema_echo` asks for it: the schema that came with the other tool. */
function observedSchema(tools: readonly Tool[]): unknown {
  return tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
}

function valuesFor({ properties = {} }: JsonObject): Record<string, unknown> {
  const fields = Object.entries(properties as Record<string, JsonObject>)
  return Object.fromEntries(
    fields.filter(([, field]) => field.default === undefined).map(([name, field]) => [name, valueFor(field)]),
  )
}

function valueFor(schema: JsonObject): unknown {
  const [choice] = (schema.enum ?? []) as unknown[]
  if (schema.const !== undefined || choice !== undefined) return schema.const ?? choice
  const [part] = (schema.oneOf ?? schema.anyOf ?? []) as JsonObject[]
  if (part !== undefined) return valueFor(part)
  switch (schema.type) {
    case 'integer':
    case 'number':
      return schema.minimum ?? 5
    case 'boolean':
      return true
    case 'array':
      return schema.minItems === undefined ? [] : [valueFor((schema.items ?? {}) as JsonObject)]
    case 'object':
      return valuesFor(schema)
    case 'null':
      return null
    default:
      return texts[String(schema.format)] ?? 'text'
  }
}

const texts: Readonly<Record<string, string>> = {
  email: 'someone@example.com',
  uri: 'https://example.com/',
  date: '2026-07-28',
  'date-time': '2026-07-28T00:00:00Z',
}
