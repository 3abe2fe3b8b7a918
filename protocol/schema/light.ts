import type { JsonObject } from '../wire/json.js'
import { lazy } from '../wire/load.js'
import { compileCheck, prepareCheck } from './check.js'
import { interpretedCheck } from './interpreted.js'
import type { ValueCheck } from './issues.js'
import { dialectOfSchema, subschemasOf } from './limits.js'
import { type Schema, schemaWith } from './schema.js'

/** With more subschemas the generation of code takes longer than about 10 ms, in one go. */
const mostGenerated = 64

/**
 * One of very many schemas, most of which are hardly used. It is taken as it is: whoever made it has seen to what
 * `toSchema` looks for, and has frozen it. No code is generated for a large one, so that its first value costs
 * little; its checks are slower, and `patternProperties` take any value there. Each is made ready when `turn`
 * resolves:
 * many may be needed at once.
 */
export function lightSchema(jsonSchema: JsonObject, turn: () => Promise<void>): Schema {
  return schemaWith(jsonSchema, (schema) => check(schema, turn), prepare)
}

async function check(schema: JsonObject, turn: () => Promise<void>): Promise<ValueCheck> {
  await turn()
  if (subschemasOf(schema).length <= mostGenerated) return compileCheck(schema)
  return interpretedCheck(await loadInterpreter(), schema, dialectOfSchema(schema), true)
}

/** Whether it is large is looked up at its first value: there may be thousands. */
async function prepare(schema: JsonObject): Promise<void> {
  await prepareCheck(schema)
  await loadInterpreter()
}

const loadInterpreter = /* @__PURE__ */ lazy('@cfworker/json-schema', () => import('@cfworker/json-schema'))
