create or replace function loom._embedding_put(p_org text, p_model text, p_ids uuid[], p_items jsonb, p_at timestamptz)
returns uuid[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_stored uuid[];
begin
  with made as (
    select distinct on (memory_id) memory_id, item ->> 'content_sha256' as content_sha256,
      (item -> 'embedding')::text::@vector@.vector as embedding
    from jsonb_array_elements(p_items) as item
    cross join lateral (select (item ->> 'memory_id')::uuid as memory_id) as named
    where memory_id = any (p_ids)
    order by memory_id
  ), present as (
    -- Not of those that are being removed just now.
    select org, memory_id, namespace, user_id, plane, content_sha256 from loom.memory_text
    where org = p_org and memory_id = any (p_ids)
    order by memory_id
    for key share skip locked
  ), stored as (
    insert into loom.embedding (org, memory_id, model, namespace, user_id, plane, content_sha256, embedding, made_at)
    select present.org, present.memory_id, p_model, present.namespace, present.user_id, present.plane,
      present.content_sha256, made.embedding, p_at
    from present join made using (memory_id, content_sha256)
    order by present.memory_id
    on conflict (org, memory_id, model) do update
      set plane = excluded.plane, content_sha256 = excluded.content_sha256, embedding = excluded.embedding, made_at = excluded.made_at
    returning memory_id
  )
  select array_agg(memory_id) into v_stored from stored;
  return coalesce(v_stored, '{}');
end
$$;
comment on function loom._embedding_put(text, text, uuid[], jsonb, timestamptz) is
  'Stores vectors of texts that are still what they were made of; which.';
