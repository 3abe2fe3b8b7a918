type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** Makes an element. Texts are texts: nothing that a program tells is read as HTML. */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly (Node | string | undefined)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : String(value))
  made.append(...children.filter((child) => child !== undefined))
  return made
}

/** An element of the page by its id, which page.html has. */
export function byId<Kind extends HTMLElement>(id: string, kind: abstract new () => Kind): Kind {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`#${id} is no ${kind.name} of page.html`)
}
