import type { FuncKeywordDefinition, Options, ValidateFunction } from 'ajv'
import { ProtocolError } from '../wire/errors.js'
import { lazy } from '../wire/load.js'
import { canonical, isObject, type JsonObject } from '../wire/json.js'
import type { Interpreter } from './interpreted.js'
import { type Issue, toIssues, type ValueCheck } from './issues.js'
import { dialectOfSchema, subschemasOf, unnamed } from './limits.js'
import { compilePattern, type Spend } from './pattern/pattern.js'

type Validator = Pick<import('ajv').default, 'compile' | 'addKeyword' | 'removeKeyword'>
type ValidatorClass = new (options: Options) => Validator

/** How much work one check may be, in steps of about 20 ns; hostile schemas and values stop there. */
const quickSteps = 6_000_000
/** How much more a check may take to find every issue instead of the first. */
const thoroughSteps = 50_000
/** ajv's errors for a form that does not fit cost more than the check of the form. */
const stepsPerForm = 10
const stepKeyword = 'caduceus-steps'
const perItem = ['items', 'contains', 'unevaluatedItems', 'additionalItems']
const perField = ['additionalProperties', 'patternProperties', 'propertyNames', 'unevaluatedProperties']
const options: Options = {
  strict: false,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
}

/** The cost of one look at a subschema; `perItem` and `perField`: it loops over the value as well. */
interface StepPlan {
  readonly steps: number
  readonly perItem: boolean
  readonly perField: boolean
}

class TooMuchWork extends Error {}

/** Loads what `compileCheck` needs for this schema, ahead of its first value. */
export async function prepareCheck(schema: JsonObject): Promise<void> {
  await modules[dialectOfSchema(schema)]()
}

/**
 * Compiles an admitted schema; loads ajv at the first call. Rejects with BAD_SCHEMA. A check that would take
 * more than a fraction of a second fails, however schema and value conspire.
 */
export async function compileCheck(schema: JsonObject): Promise<ValueCheck> {
  const dialect = dialectOfSchema(schema)
  const module = await modules[dialect]()
  // what bundles for hosts that compile no code have in its place (`browser` of package.json)
  if ('Validator' in module) {
    const { interpretedCheck } = await loadInterpreted()
    return interpretedCheck(module as unknown as Interpreter, schema, dialect)
  }
  const Ajv = classOf(module)
  const budget = createBudget()
  const quick = compile(Ajv, schema, { spend: budget.spend, allErrors: false })
  let thorough: ValidateFunction | undefined

  function check(value: unknown): readonly Issue[] {
    const outcome = budget.run(quickSteps, () => quick(value))
    if (outcome === true) return []
    if (outcome === undefined)
      return [{ path: '', message: 'takes too long to check: it is too large or too deep' }]
    const first = quick.errors ?? []
    thorough ??= compile(Ajv, schema, { spend: budget.spend, allErrors: true })
    const all = thorough
    const finished = budget.run(thoroughSteps, () => all(value)) !== undefined
    return toIssues(finished ? (all.errors ?? first) : first, value)
  }

  return check
}

/** The validators, each in a file of its own: a program that never checks a JSON Schema never loads ajv. */
const modules = {
  '2020-12': /* @__PURE__ */ lazy('ajv/dist/2020.js', () => import('ajv/dist/2020.js')),
  '2019-09': /* @__PURE__ */ lazy('ajv/dist/2019.js', () => import('ajv/dist/2019.js')),
  'draft-07': /* @__PURE__ */ lazy('ajv/dist/ajv.js', () => import('ajv/dist/ajv.js')),
}

const loadInterpreted = /* @__PURE__ */ lazy(
  '../../protocol/schema/interpreted.js',
  () => import('./interpreted.js'),
)

function classOf(module: Partial<Record<'Ajv2020' | 'Ajv2019' | 'Ajv', unknown>>): ValidatorClass {
  return (module.Ajv2020 ?? module.Ajv2019 ?? module.Ajv) as ValidatorClass
}

function compile(
  Ajv: ValidatorClass,
  schema: JsonObject,
  { spend, allErrors }: { spend: Spend; allErrors: boolean },
): ValidateFunction {
  return withPlainObjects(() => compileWith(Ajv, schema, { spend, allErrors }))
}

/**
 * ajv compiles with `for ... in`, and fails over what somebody has put on Object.prototype: it does not see that
 * while `work` runs. Nothing else runs meanwhile.
 */
function withPlainObjects<T>(work: () => T): T {
  const added = Object.entries(Object.getOwnPropertyDescriptors(Object.prototype)).filter(
    ([, { enumerable, configurable }]) => enumerable && configurable,
  )
  for (const [name] of added) Object.defineProperty(Object.prototype, name, { enumerable: false })
  try {
    return work()
  } finally {
    for (const [name] of added) Object.defineProperty(Object.prototype, name, { enumerable: true })
  }
}

function compileWith(
  Ajv: ValidatorClass,
  schema: JsonObject,
  { spend, allErrors }: { spend: Spend; allErrors: boolean },
): ValidateFunction {
  const regExp = Object.assign((source: string) => toLinear(source, spend), { code: 'caduceus' })
  const ajv = new Ajv({ ...options, allErrors, code: { regExp, optimize: false } })
  ajv.addKeyword(countSteps(spend))
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(uniqueItems(spend))
  try {
    return ajv.compile(withSteps(schema))
  } catch (cause) {
    const problem = cause instanceof RangeError ? 'too large to compile' : (cause as Error).message
    throw new ProtocolError('BAD_SCHEMA', `JSON Schema: ${problem}`, { cause })
  }
}

/** A copy that counts steps at every subschema: references alone can make the work exponential. */
function withSteps(schema: JsonObject): JsonObject {
  const counted: JsonObject = structuredClone(schema)
  // beside the ids of parts, ajv does not find a whole without one
  if (counted.$id === undefined) Reflect.set(counted, '$id', unnamed)
  for (const part of subschemasOf(counted)) {
    Reflect.deleteProperty(part.schema, '$async') // an extension of ajv that would make the check a promise
    if (Object.keys(part.schema).length > 0) Reflect.set(part.schema, stepKeyword, planSteps(part.schema))
  }
  return counted
}

function planSteps(schema: JsonObject): StepPlan {
  const forms = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []))
  return {
    steps: 1 + stepsPerForm * forms.length,
    perItem: perItem.some((keyword) => Object.hasOwn(schema, keyword)),
    perField: perField.some((keyword) => Object.hasOwn(schema, keyword)),
  }
}

function countSteps(spend: Spend): FuncKeywordDefinition {
  return {
    keyword: stepKeyword,
    schemaType: 'object',
    before: '$ref', // the first of all: a keyword that fails would end the check before it is counted
    errors: false,
    validate: (plan: StepPlan, value: unknown) => {
      spend(plan.steps)
      if (plan.perItem && Array.isArray(value)) spend(value.length)
      if (plan.perField && isObject(value)) spend(Object.keys(value).length)
      return true
    },
  }
}

function toLinear(source: string, spend: Spend) {
  const pattern = compilePattern(source, spend)
  if (typeof pattern === 'string')
    throw new ProtocolError('BAD_SCHEMA', `JSON Schema: the pattern ${pattern}`)
  return pattern
}

/** In place of ajv's own, which compares every two items. */
function uniqueItems(spend: Spend): FuncKeywordDefinition {
  return {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    validate: (wanted: boolean, items: readonly unknown[]) => {
      if (!wanted) return true
      spend(items.length)
      const [structures, others] = [items.filter(isStructure), items.filter((item) => !isStructure(item))]
      const texts = structures.map((item) => canonical(item, (fieldCount) => spend(20 * fieldCount)))
      return new Set(others).size + new Set(texts).size === items.length
    },
  }
}

function isStructure(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function createBudget() {
  let left = 0
  const tooMuch = new TooMuchWork('the check takes too much work')

  function spend(units: number): void {
    left -= units
    if (left < 0) throw tooMuch
  }

  /** Undefined when the work went beyond `steps`, or beyond the stack. */
  function run(steps: number, work: () => unknown): boolean | undefined {
    left = steps
    try {
      return work() === true
    } catch (error) {
      if (error === tooMuch || error instanceof RangeError) return undefined
      throw error
    }
  }

  return { spend, run }
}
