import { isObject } from '../../protocol/wire/json.js'
import type { PromptArgument } from '../../protocol/messages/prompts.js'
import { type Completers, readCompleters } from './completer.js'
import type { ToolContext } from '../context/context.js'
import {
  type ComponentDefinition,
  type ComponentKind,
  type Isolated,
  type NameOf,
  type NotIsolated,
  type Presented,
  readComponent,
} from './component.js'
import { type DefinitionReaders, definitionGuard, definitionReaders } from './definition.js'
import { readFields } from './described.js'
import type { Field } from '../../protocol/schema/fields/field.js'
import { type FieldRecord, groupKind } from '../../protocol/schema/fields/groups.js'
import type { GroupOutput } from '../../protocol/schema/fields/types.js'
import type { Parsed } from '../../protocol/schema/schema.js'
import type { PromptReturn } from '../results/results.js'

type ArgumentList = readonly Readonly<PromptArgument>[]
type Fields = Readonly<Record<string, Field>>

type ArgumentReader = (texts: Readonly<Record<string, string>>) => Parsed<object> | Promise<Parsed<object>>

/** A prompt's arguments: a list as clients see it, or fields by their names. */
export type PromptArguments = ArgumentList | FieldRecord

/** The first argument of `get`, inferred from `arguments`: the values of fields, or the texts of a list. */
export type PromptArgumentsOf<Given extends PromptArguments> = Given extends ArgumentList
  ? {
      readonly [Argument in Given[number] as Argument extends { required: true }
        ? Argument['name']
        : never]: string
    } & {
      readonly [Argument in Given[number] as Argument extends { required: true }
        ? never
        : Argument['name']]?: string
    }
  : GroupOutput<Given>

type ArgumentName<Given extends PromptArguments> = Given extends ArgumentList
  ? Given[number]['name']
  : keyof Given & string

interface PromptCommon<Given extends PromptArguments, Context> extends Presented {
  /** The name that clients use. Default: its key in `defineServer`, in snake case (`code_review`). */
  readonly name?: string
  /**
   * Its arguments: fields by their names (`{ style: field.enum(['formal', 'casual']) }`), or a list of names.
   * Clients send texts, and a field reads its value from there (`'500'` is 500 for an integer; lists and
   * groups are JSON). A wrong or missing one is error -32602 before `get` runs.
   */
  readonly arguments?: Given
  /** Suggests values for the arguments. */
  readonly complete?: Completers<ArgumentName<Given>, Context>
}

/** A prompt: what `definePrompt` takes. */
export interface PromptOptions<Given extends PromptArguments = readonly [], Context = ToolContext>
  extends PromptCommon<Given, Context>,
    NotIsolated {
  /** Writes the prompt, in its own task. Throw `McpError` or `ToolError` to tell the client an error. */
  get(args: PromptArgumentsOf<Given>, ctx: Context): PromptReturn | Promise<PromptReturn>
}

/** A prompt that is written elsewhere: what `definePrompt` takes. `complete` runs here. */
export interface IsolatedPromptOptions<Given extends PromptArguments = readonly [], Context = ToolContext>
  extends PromptCommon<Given, Context>,
    Isolated {
  readonly get?: undefined
}

/** A checked and frozen prompt: data, for any number of servers. */
export interface PromptDefinition<Name extends string | undefined = string>
  extends ComponentDefinition<Name> {
  readonly kind: 'prompt'
  readonly arguments: ArgumentList
  /** Reads the arguments from their texts; undefined if `get` takes the texts. */
  readonly reader: ArgumentReader | undefined
  readonly get: (args: never, ctx: ToolContext) => unknown
  readonly completers: Completers
}

const argumentFields = new Set(['name', 'title', 'description', 'required'])

const promptKind: ComponentKind = {
  kind: 'prompt',
  key: 'name',
  expected: 'a non-empty string',
  fits: (name) => name === undefined || (typeof name === 'string' && name !== ''),
  handler: 'get',
  fields: ['arguments', 'complete'],
}

/** Defines a prompt. Throws BAD_DEFINITION, naming the prompt and the field. */
export function definePrompt<
  const Given extends PromptArguments = readonly [],
  Name extends string | undefined = undefined,
>(
  options: (PromptOptions<Given> | IsolatedPromptOptions<Given>) & { readonly name?: Name },
): PromptDefinition<NameOf<Name>> {
  const { read, common, handle } = readComponent<NameOf<Name>>(promptKind, options)
  const { listed, reader } = readArguments(read, options.arguments)
  const names = listed.map((argument) => argument.name)
  return Object.freeze({
    kind: 'prompt',
    ...common,
    arguments: listed,
    reader,
    get: handle,
    completers: readCompleters(read, options.complete, names),
  })
}

export const isPrompt = definitionGuard<PromptDefinition<string | undefined>>('prompt')

function readArguments(
  read: DefinitionReaders,
  args: unknown = [],
): { readonly listed: ArgumentList; readonly reader: ArgumentReader | undefined } {
  if (Array.isArray(args)) return { listed: readList(read, args), reader: undefined }
  if (!isObject(args)) throw read.bad('arguments', 'fields by their names, or an array', args)
  const fields = readFields(read, 'arguments', args as FieldRecord)
  return { listed: shownArguments(fields), reader: readerOf(fields) }
}

function readList({ about, bad, readFlag }: DefinitionReaders, args: readonly unknown[]): ArgumentList {
  const names = new Set<string>()
  const all = args.map((argument, index) => {
    const field = `arguments[${index}]`
    if (!isObject(argument)) throw bad(field, 'an object with a name', argument)
    const { name, title, description, required } = argument
    if (typeof name !== 'string' || name === '' || names.has(name))
      throw bad(`${field}.name`, 'a non-empty string that no other argument has', name)
    names.add(name)
    const { checkFields, checkTexts } = definitionReaders(`${about}: ${field}`)
    checkFields(argument, argumentFields)
    checkTexts({ title, description })
    readFlag(required, `${field}.required`, false)
    return Object.freeze({ ...argument, name }) as Readonly<PromptArgument>
  })
  return Object.freeze(all)
}

function shownArguments(fields: Fields): ArgumentList {
  return Object.freeze(
    Object.entries(fields).map(([name, { jsonSchema, presence }]) => {
      const { title, description } = jsonSchema
      return Object.freeze({
        name,
        ...(typeof title === 'string' && { title }),
        ...(typeof description === 'string' && { description }),
        required: presence === 'required',
      })
    }),
  )
}

/** Reads each argument from its text and checks it; drops texts of unknown names. */
function readerOf(fields: Fields): ArgumentReader {
  const { parse } = groupKind(fields)
  const all = Object.entries(fields)
  function read(texts: Readonly<Record<string, string>>): Parsed<object> | Promise<Parsed<object>> {
    const values: [string, unknown][] = []
    for (const [name, field] of all) {
      const text = Object.hasOwn(texts, name) ? texts[name] : undefined
      if (text !== undefined) values.push([name, field.fromText(text)])
    }
    return parse(Object.fromEntries(values))
  }
  return read
}
