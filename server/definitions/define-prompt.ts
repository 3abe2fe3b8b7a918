import { isObject } from '../../protocol/wire/json.js'
import type { PromptArgument } from '../../protocol/messages/prompts.js'
import { type Completers, readCompleters } from './completer.js'
import type { ToolContext } from '../context/context.js'
import type { NameOf } from './define-tool.js'
import {
  aboutNamed,
  badDefinition,
  checkFields,
  checkFunction,
  checkOptions,
  checkTexts,
  checkTimeout,
} from './definition.js'
import { type ArgumentReader, readerOf, shownArguments } from './prompt-arguments.js'
import { readFields } from './definition-schema.js'
import type { FieldRecord } from '../../protocol/schema/fields/groups.js'
import type { GroupOutput } from '../../protocol/schema/fields/types.js'
import { type Presented, type PresentedDefinition, presentedFields, readPresented } from './presented.js'
import type { PromptReturn } from '../results/results.js'

type Listed = readonly Readonly<PromptArgument>[]

/** How a prompt's arguments may be described: as clients are shown them, or as fields by their names. */
export type PromptArguments = Listed | FieldRecord

/**
 * What a prompt's `get` is given, inferred from its `arguments`: the values of fields, or, of a list, texts,
 * of which those not required may be absent.
 */
export type PromptArgumentsOf<Given extends PromptArguments> = Given extends Listed
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

type ArgumentName<Given extends PromptArguments> = Given extends Listed
  ? Given[number]['name']
  : keyof Given & string

/** A prompt as its author writes it. */
export interface PromptOptions<Given extends PromptArguments = readonly [], Context = ToolContext>
  extends Presented {
  /**
   * What clients get it by. Left out, it is named by whoever lists it:
   * `defineServer({ prompts: { codeReview } })` makes it `code_review`.
   */
  readonly name?: string
  /**
   * What it wants to know: fields by their names (`{ style: field.enum(['formal', 'casual']) }`), or a list
   * of names. Values come as text; a field reads its own from there (`'500'` is 500 for an integer; lists and
   * groups are JSON), and one that is wrong, or missing, is error -32602 before `get` runs.
   */
  readonly arguments?: Given
  /**
   * Milliseconds it may take before it is stopped and answered with an error. Default: the server's
   * `requestTimeout`.
   */
  readonly timeout?: number
  /**
   * Writes the prompt, as a task of its own: a string (one message of the user), messages, or a whole result.
   * Throw `McpError` or `ToolError` for what the client is to be told.
   */
  get(args: PromptArgumentsOf<Given>, ctx: Context): PromptReturn | Promise<PromptReturn>
  /** Suggests values for the arguments. */
  readonly complete?: Completers<ArgumentName<Given>, Context>
}

/** A checked and frozen prompt: data, to be used by any number of servers. */
export interface PromptDefinition<Name extends string | undefined = string> extends PresentedDefinition {
  readonly kind: 'prompt'
  readonly name: Name
  readonly arguments: Listed
  /** Reads the arguments from their texts; undefined: they are given as they are. */
  readonly reader: ArgumentReader | undefined
  readonly timeout: number | undefined
  readonly get: (args: never, ctx: ToolContext) => unknown
  readonly completers: Completers
}

const fields = new Set(['name', ...presentedFields, 'arguments', 'timeout', 'get', 'complete'])
const argumentFields = new Set(['name', 'title', 'description', 'required'])

/**
 * Defines a prompt; the arguments of `get` are inferred from `arguments`. Throws BAD_DEFINITION, naming the
 * prompt and the field.
 */
export function definePrompt<
  const Given extends PromptArguments = readonly [],
  Name extends string | undefined = undefined,
>(options: PromptOptions<Given> & { readonly name?: Name }): PromptDefinition<NameOf<Name>> {
  checkOptions('prompt', options)
  const prompt = options as PromptOptions<Given>
  const { name, arguments: args = [], timeout, get } = prompt
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw badDefinition('prompt', 'name', 'a non-empty string', name)
  const about = aboutNamed('prompt', name)
  checkFields(about, prompt, fields)
  checkTimeout(about, timeout)
  checkFunction(about, 'get', get)
  const { listed, reader } = readArguments(about, args)
  return Object.freeze({
    kind: 'prompt',
    name: name as NameOf<Name>,
    ...readPresented(about, options),
    arguments: listed,
    reader,
    timeout,
    get: get.bind(prompt) as PromptDefinition['get'],
    completers: readCompleters(
      about,
      prompt.complete,
      listed.map((argument) => argument.name),
    ),
  })
}

/** Whether this is what `definePrompt` returns. */
export function isPrompt(value: unknown): value is PromptDefinition<string | undefined> {
  return isObject(value) && value.kind === 'prompt' && Object.isFrozen(value)
}

function readArguments(
  about: string,
  args: unknown,
): { readonly listed: Listed; readonly reader: ArgumentReader | undefined } {
  if (Array.isArray(args)) return { listed: readList(about, args), reader: undefined }
  if (!isObject(args)) throw badDefinition(about, 'arguments', 'fields by their names, or an array', args)
  const read = readFields({ about, field: 'arguments' }, args as FieldRecord)
  return { listed: shownArguments(read), reader: readerOf(read) }
}

function readList(about: string, args: readonly unknown[]): Listed {
  const names = new Set<string>()
  const all = args.map((argument, index) => {
    const field = `arguments[${index}]`
    if (!isObject(argument)) throw badDefinition(about, field, 'an object with a name', argument)
    const { name, title, description, required } = argument
    if (typeof name !== 'string' || name === '' || names.has(name))
      throw badDefinition(about, `${field}.name`, 'a non-empty string that no other argument has', name)
    names.add(name)
    checkFields(`${about}: ${field}`, argument, argumentFields)
    checkTexts(`${about}: ${field}`, { title, description })
    if (required !== undefined && typeof required !== 'boolean')
      throw badDefinition(about, `${field}.required`, 'true or false', required)
    return Object.freeze({ ...argument, name }) as Readonly<PromptArgument>
  })
  return Object.freeze(all)
}
