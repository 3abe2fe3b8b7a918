import type { CalendarDate, ClockTime, NaiveDateTime, ZonedDateTime } from './calendar.js'
import { Field, type FieldKind, type FieldNotes } from './field.js'
import {
  type FieldInput,
  type FieldRecord,
  groupKind,
  type ListLimits,
  listKind,
  mapKind,
  toField,
} from './groups.js'
import {
  anyKind,
  booleanKind,
  calendarKind,
  choiceKind,
  type NumberLimits,
  numberKind,
  type TextLimits,
  textKind,
} from './kinds.js'
import { isObject } from '../../wire/json.js'
import type { GroupOutput, OutputOf } from './types.js'

type Text = FieldNotes<string> & TextLimits
type Numeric = FieldNotes<number> & NumberLimits
type Choices<Choice> = FieldNotes<Choice> & {
  /** The JSON type; follows from the choices when it is left out. */
  readonly type?: 'string' | 'integer' | 'number' | 'boolean'
}
type ListNotes = FieldNotes<readonly unknown[]> & ListLimits

/** A field with a default always has a value. */
type Made<Output, Options> = Field<Output, Options extends { default: unknown } ? 'default' : 'required'>

/**
 * Describes what a tool or a prompt takes, field by field: what the model is shown, what is checked, and the
 * type that `run` gets. A field is required unless it has a `default` or is made `.optional()`. The
 * definition that uses a field throws BAD_DEFINITION for wrong options.
 */
export const field = Object.freeze({
  /** Text; lengths in characters. */
  string: <const O extends Text>(options?: O): Made<string, O> =>
    make(options, ['min', 'max', 'pattern', 'format', 'enforce'], textKind),
  /** A number without decimals. */
  integer: <const O extends Numeric>(options?: O): Made<number, O> =>
    make(options, ['min', 'max', 'range'], (limits) => numberKind('integer', limits)),
  /** A number. */
  number: <const O extends Numeric>(options?: O): Made<number, O> =>
    make(options, ['min', 'max', 'range'], (limits) => numberKind('number', limits)),
  /** True or false. */
  boolean: <const O extends FieldNotes<boolean>>(options?: O): Made<boolean, O> =>
    make(options, [], () => booleanKind),
  /** Any JSON value. */
  any: <const O extends FieldNotes>(options?: O): Made<unknown, O> => make(options, [], () => anyKind),
  /** A day, such as `2024-01-15`: the same one in every zone. */
  date: <const O extends FieldNotes<string>>(options?: O): Made<CalendarDate, O> =>
    make(options, [], () => calendarKind('date')),
  /** A time of day, such as `14:30:00`. */
  time: <const O extends FieldNotes<string>>(options?: O): Made<ClockTime, O> =>
    make(options, [], () => calendarKind('time')),
  /** A moment, such as `2024-01-15T14:30:00Z`; without a zone it is refused. */
  datetime: <const O extends FieldNotes<string>>(options?: O): Made<ZonedDateTime, O> =>
    make(options, [], () => calendarKind('datetime')),
  /** A day and a time of day, such as `2024-01-15T14:30:00`; with a zone it is refused. */
  naiveDatetime: <const O extends FieldNotes<string>>(options?: O): Made<NaiveDateTime, O> =>
    make(options, [], () => calendarKind('naive')),
  /** One of a few strings, numbers or booleans. */
  enum: <const Choice extends string | number | boolean, const O extends Choices<NoInfer<Choice>>>(
    choices: readonly Choice[],
    options?: O,
  ): Made<Choice, O> => make(options, ['type'], ({ type }) => choiceKind(choices, type)),
  /** A list of items of one field, or of a schema of any library. */
  list: <const Item extends FieldInput, const O extends ListNotes>(
    item: Item,
    options?: O,
  ): Made<OutputOf<Item>[], O> =>
    make(options, ['min', 'max'], (limits) => listKind(toField(item), limits) as FieldKind<OutputOf<Item>[]>),
  /** An object with any keys and values of one field, or of a schema of any library. */
  map: <const Value extends FieldInput, const O extends FieldNotes<object>>(
    value: Value,
    options?: O,
  ): Made<Record<string, OutputOf<Value>>, O> =>
    make(options, [], () => mapKind(toField(value)) as FieldKind<Record<string, OutputOf<Value>>>),
  /** An object with these fields or schemas of any library; other keys are dropped. */
  group: <const Fields extends FieldRecord, const O extends FieldNotes<object>>(
    fields: Fields,
    options?: O,
  ): Made<GroupOutput<Fields>, O> =>
    make(options, [], () => groupKind(fields) as FieldKind<GroupOutput<Fields>>),
})

const presence = 'a field has to be given unless it is made .optional() or has a default'

/** The option of ours for one of another library. */
const remedies: { readonly [option: string]: string } = {
  required: presence,
  optional: presence,
  nullable: presence,
  minLength: 'write min',
  minimum: 'write min',
  minItems: 'write min',
  maxLength: 'write max',
  maximum: 'write max',
  maxItems: 'write max',
  regex: 'write pattern',
  describe: 'write description',
  desc: 'write description',
  defaultValue: 'write default',
  enum: 'write field.enum([...])',
}

const notes = ['title', 'description', 'default', 'examples', 'header', 'meta']

function make<Options extends FieldNotes, Output>(
  options: Options | undefined,
  limits: readonly string[],
  toKind: (options: Options) => FieldKind<Output>,
): Made<Output, Options> {
  const isGiven = options === undefined || isObject(options)
  const given = isGiven && options !== undefined ? options : ({} as Options)
  const kind = toKind(given)
  const known = [...notes, ...limits]
  const unknown = Object.keys(given).filter((key) => !known.includes(key))
  const problems = unknown.map((key) => ({
    path: '',
    message: `${key}: expected an option among ${known.join(', ')}${Object.hasOwn(remedies, key) ? `: ${remedies[key]}` : ''}`,
  }))
  if (!isGiven)
    problems.push({
      path: '',
      message: "expected options as an object; choices stand in one list, as in field.enum(['a', 'b'])",
    })
  const whole = problems.length === 0 ? kind : { ...kind, problems: [...kind.problems, ...problems] }
  const presence = 'default' in given ? 'default' : 'required'
  return new Field(whole, given, presence) as Made<Output, Options>
}
