import type { UpstreamOptions } from '../definitions/gateway-options.js'
import type { UpstreamLists } from '../definitions/upstreams.js'
import { show } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { fits, isPattern } from './names.js'
import type { RoutedTemplate } from './routes.js'

/** What limits of a server may name besides its tools. */
const methods = ['resources/read', 'prompts/get', 'completion/complete']

/** In words, each name in the options of a server that fits nothing which it lists. */
export function unknownNames(
  { allow = [], deny = [], rename = {}, maxCallsPerTool = {} }: UpstreamOptions,
  lists: UpstreamLists,
  templates: readonly RoutedTemplate[],
): string[] {
  const tools = textsOf(lists.tools, 'name')
  const named = [...tools, ...textsOf(lists.prompts, 'name')]
  const offered = [...named, ...textsOf(lists.resources, 'uri'), ...textsOf(lists.templates, 'uriTemplate')]
  // an address may be of a template, and need not be listed
  const isOfTemplate = (name: string): boolean =>
    isPattern(name)
      ? name.includes(':') && templates.length > 0
      : templates.some(({ matcher }) => matcher?.match(name) !== undefined)
  const isUnknown = (name: string): boolean =>
    !offered.some((own) => fits(own, [name])) && !isOfTemplate(name)
  return [
    ...allow.filter(isUnknown).map((name) => told('allow', name, offered)),
    ...deny.filter(isUnknown).map((name) => told('deny', name, offered)),
    ...absentFrom(rename, named).map((name) => told('rename', name, named)),
    ...absentFrom(maxCallsPerTool, [...tools, ...methods]).map((name) =>
      told('maxCallsPerTool', name, tools),
    ),
  ]
}

function told(field: string, name: string, known: readonly string[]): string {
  return `${field}: ${show(name)} fits nothing that it lists${didYouMean(name, known)}, so it does nothing`
}

function absentFrom(names: object, known: readonly string[]): string[] {
  return Object.keys(names).filter((name) => !known.includes(name))
}

function textsOf(entries: UpstreamLists['tools'], field: string): string[] {
  return entries.flatMap(({ [field]: text }) => (typeof text === 'string' ? [text] : []))
}
