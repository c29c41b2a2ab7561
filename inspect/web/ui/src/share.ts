// A text in the fragment of an address: compressed, and seen by no server.
const most = 6000 // characters; browsers and chats cut longer addresses

async function through(bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const answer = new Response(new Blob([bytes]).stream().pipeThrough(stream))
  return new Uint8Array(await answer.arrayBuffer())
}

// pack is undefined where the text is too long for an address.
export async function pack(text: string): Promise<string | undefined> {
  const bytes = await through(text, new CompressionStream('deflate-raw'))
  if (bytes.length > most) return undefined
  const base64 = btoa(String.fromCharCode(...bytes))
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

export async function unpack(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  return new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw')))
}
