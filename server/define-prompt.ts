import { isObject } from '../protocol/json.js'
import type { PromptArgument } from '../protocol/types/prompts.js'
import { show } from '../runtime/errors.js'
import { type Completers, readCompleters } from './completer.js'
import type { ToolContext } from './context.js'
import {
  badDefinition,
  checkFields,
  checkFunction,
  checkOptions,
  checkTexts,
  checkTimeout,
} from './definition.js'
import type { PromptReturn } from './results.js'

type Arguments = readonly Readonly<PromptArgument>[]

/** What a prompt's `get` is given, inferred from its `arguments`: those not required may be absent. */
export type PromptArgumentsOf<Given extends Arguments> = {
  readonly [Argument in Given[number] as Argument extends { required: true }
    ? Argument['name']
    : never]: string
} & {
  readonly [Argument in Given[number] as Argument extends { required: true }
    ? never
    : Argument['name']]?: string
}

/** A prompt as its author writes it. */
export interface PromptOptions<Given extends Arguments = readonly []> {
  /** What clients get it by. */
  readonly name: string
  /** A name for people. */
  readonly title?: string
  readonly description?: string
  /** What it wants to know; all values are strings. */
  readonly arguments?: Given
  /** Milliseconds it may take before it is stopped and answered with an error. Default: the server's `requestTimeout`. */
  readonly timeout?: number
  /** Writes the prompt, as a task of its own: a string (one message of the user), messages, or a whole result. */
  get(args: PromptArgumentsOf<Given>, ctx: ToolContext): PromptReturn | Promise<PromptReturn>
  /** Suggests values for the arguments. */
  readonly complete?: Completers<Given[number]['name']>
}

/** A checked and frozen prompt: data, to be used by any number of servers. */
export interface PromptDefinition {
  readonly kind: 'prompt'
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly arguments: Arguments
  readonly timeout: number | undefined
  readonly get: (args: never, ctx: ToolContext) => unknown
  readonly completers: Completers
}

const fields = new Set(['name', 'title', 'description', 'arguments', 'timeout', 'get', 'complete'])
const argumentFields = new Set(['name', 'title', 'description', 'required'])

/** Defines a prompt; the arguments of `get` are inferred from `arguments`. Throws BAD_DEFINITION, naming the prompt and the field. */
export function definePrompt<const Given extends Arguments = readonly []>(
  options: PromptOptions<Given>,
): PromptDefinition {
  checkOptions('prompt', options)
  const prompt = options as PromptOptions<Given>
  const { name, title, description, arguments: args = [], timeout, get } = prompt
  if (typeof name !== 'string' || name === '')
    throw badDefinition('prompt', 'name', 'a non-empty string', name)
  const about = `prompt ${show(name)}`
  checkFields(about, prompt, fields)
  checkTexts(about, { title, description })
  checkTimeout(about, timeout)
  checkFunction(about, 'get', get)
  const known = readArguments(about, args)
  return Object.freeze({
    kind: 'prompt',
    name,
    title,
    description,
    arguments: known,
    timeout,
    get: get.bind(prompt) as PromptDefinition['get'],
    completers: readCompleters(
      about,
      prompt.complete,
      known.map((argument) => argument.name),
    ),
  })
}

/** Whether this is what `definePrompt` returns. */
export function isPrompt(value: unknown): value is PromptDefinition {
  return isObject(value) && value.kind === 'prompt' && Object.isFrozen(value)
}

function readArguments(about: string, args: unknown): Arguments {
  if (!Array.isArray(args)) throw badDefinition(about, 'arguments', 'an array', args)
  const names = new Set<string>()
  for (const [index, argument] of args.entries()) {
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
  }
  return Object.freeze(args.map((argument) => Object.freeze({ ...argument })))
}
