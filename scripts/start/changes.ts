import { formatTree, type TreeNode } from '../../index.js'

interface Place {
  readonly path: string
  readonly process: number | undefined
  readonly about: string | undefined
}

/** What is another process than before, or says another thing of what it stands for: a line each. */
export function changesOf(before: TreeNode, after: TreeNode): string[] {
  const known = new Map(placesOf(before).map((place) => [place.process, place]))
  return placesOf(after).flatMap((now) => {
    const was = known.get(now.process)
    if (was === undefined) return [`${now.path}: a new process`]
    const [old, pid] = [pidIn(was.about), pidIn(now.about)]
    return old === pid ? [] : [`${now.path}: pid ${old} is pid ${pid} now`]
  })
}

/** The tree as lines, each with whether it is another process than in `before`. */
export function markedLines(before: TreeNode, after: TreeNode): { line: string; isNew: boolean }[] {
  const known = new Set(placesOf(before).map(({ process }) => process))
  const places = placesOf(after)
  return formatTree(after)
    .split('\n')
    .map((line, index) => ({ line, isNew: !known.has(places[index]?.process) }))
}

/** All nodes, in the order of their lines. */
function placesOf(node: TreeNode, above: readonly string[] = []): Place[] {
  const path = [...above, node.id].slice(-2).join(' / ')
  return [
    { path, process: node.process, about: node.about },
    ...node.children.flatMap((child) => placesOf(child, [...above, node.id])),
  ]
}

function pidIn(about: string | undefined): string | undefined {
  return /pid (\d+)/.exec(about ?? '')?.[1]
}
