import type { JsonObject } from '../../wire/json.js'
import { isBase, type Subschema, subschemasOf } from '../limits.js'

const usualDialect = 'https://json-schema.org/draft/2020-12/schema'

/**
 * A schema as it stands inside of another one, at a JSON Pointer such as `/properties/a`: what it refers to
 * within itself is still found, and the dialect is not named again where it is the usual one.
 */
export function nested(schema: JsonObject, pointer: string): JsonObject {
  const { $schema, ...rest } = schema
  const inner = $schema === usualDialect ? rest : schema
  if (!subschemasOf(inner).some(isMoved)) return inner
  const moved: JsonObject = structuredClone(inner)
  for (const part of subschemasOf(moved).filter(isMoved))
    Reflect.set(part.schema, '$ref', `#${pointer}${String(part.schema.$ref).slice(1)}`)
  return moved
}

/** The pointer to a field by its name. */
export function pointerTo(name: string): string {
  return `/properties/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`
}

/** Anchors are names in the whole document, and what starts from an `$id` still does. */
function isMoved({ schema: { $ref }, base }: Subschema): boolean {
  return typeof $ref === 'string' && ($ref === '#' || $ref.startsWith('#/')) && !isBase(base)
}
