import type { ElicitResult, FormField, FormSchema } from '../../protocol/messages/elicitation.js'
import { toDefinedSchema } from '../../protocol/schema/defined.js'
import { Field, isField } from '../../protocol/schema/fields/field.js'
import { type FieldRecord, groupKind } from '../../protocol/schema/fields/groups.js'
import type { GroupOutput } from '../../protocol/schema/fields/types.js'
import { isStandard, type Schema, type StandardSchema } from '../../protocol/schema/schema.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { readersOf } from '../base/read-options.js'

/** A form: fields by their names, or one schema of an object (Standard Schema). Its fields have no fields. */
export type Form = FieldRecord | StandardSchema

/** What a form is filled in with: as the arguments of a tool, so that a day is a day. */
type FilledIn<F> = F extends StandardSchema<infer _, infer Values> ? Values : GroupOutput<F>

/** The answer to a form. */
export type FormAnswer<F> = Omit<ElicitResult, 'action' | 'content'> &
  (
    | { readonly action: 'accept'; readonly content: FilledIn<F> }
    | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }
  )

/** A form as clients are shown it, and what reads their answers. Throws BAD_OPTION, naming the field. */
export function readForm(form: Form): { readonly schema: Schema; readonly requestedSchema: FormSchema } {
  if (!isObject(form) && typeof form !== 'function') throw bad('form', 'fields by their names', form)
  try {
    const schema = toDefinedSchema(
      isStandard(form) || isField(form) ? form : new Field(groupKind(form as FieldRecord), {}, 'required'),
    )
    const { type, properties, required } = schema.jsonSchema
    if (type !== 'object' || !isObject(properties))
      throw bad('form', 'fields by their names, or a schema of an object', schema.jsonSchema)
    const shown = Object.entries(properties).map(([name, one]) => [name, shownField(name, one)])
    return {
      schema,
      requestedSchema: {
        type: 'object',
        properties: Object.fromEntries(shown),
        ...(Array.isArray(required) && { required }),
      },
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    throw bad('form', 'fields by their names, or a schema of an object', error.message)
  }
}

const { badOption: bad } = readersOf('elicit')

/** What the specification lets a field of a form have, by its type (elicitation, requested schema). */
const keywords: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'format', 'enum', 'enumNames', 'oneOf', 'default'],
  number: ['minimum', 'maximum', 'default'],
  integer: ['minimum', 'maximum', 'default'],
  boolean: ['default'],
  array: ['items', 'minItems', 'maxItems', 'default'],
}
const formats: readonly unknown[] = ['email', 'uri', 'date', 'date-time']
const kinds = 'a text, a number, true or false, one of a few texts, or a list of such'

/** Without keywords that clients might refuse: answers are checked here. */
function shownField(name: string, given: unknown): FormField {
  const field: JsonObject = isObject(given) ? given : {}
  const type = field.type ?? (Array.isArray(field.enum) ? 'string' : undefined)
  const allowed = typeof type === 'string' ? keywords[type] : undefined
  const isChoice = (of: unknown): boolean =>
    isObject(of) &&
    (Array.isArray(of.anyOf) || (Array.isArray(of.enum) && of.enum.every((one) => typeof one === 'string')))
  const isWrong =
    allowed === undefined ||
    (type === 'array' && !isChoice(field.items)) ||
    (Array.isArray(field.enum) && !isChoice(field))
  if (isWrong) throw bad(`form.${name}`, kinds, given)
  const kept = ['title', 'description', ...allowed].filter(
    (keyword) => Object.hasOwn(field, keyword) && (keyword !== 'format' || formats.includes(field.format)),
  )
  const rest = Object.fromEntries(kept.map((keyword) => [keyword, field[keyword]]))
  return { type, ...rest } as unknown as FormField
}
