create or replace function loom._embedding_sweep(p_model loom.embedding_model, p_limit integer, p_at timestamptz)
returns loom.embedding_model
language plpgsql volatile
as $$
declare
  v_batch loom.memory_text[];
  v_last loom.memory_text;
begin
  if loom._embedding_due_count(p_model.model, p_limit) >= p_limit then
    return p_model;
  end if;
  v_batch := array(
    select listed from loom.memory_text as listed
    where (org, memory_id) > (p_model.cursor_org, p_model.cursor_memory_id)
    order by org, memory_id
    limit p_limit);
  -- Without those that are being removed just now.
  insert into loom.embedding_due (org, memory_id, model, namespace, user_id, due_at)
  select org, memory_id, p_model.model, namespace, user_id, p_at
  from (
    select present.* from loom.memory_text as present
    join unnest(v_batch) as listed on listed.org = present.org and listed.memory_id = present.memory_id
    where not loom._embedding_current(present.org, present.memory_id, p_model.model, present.content_sha256)
    order by present.org, present.memory_id
    for key share of present skip locked
  ) as held
  on conflict (org, memory_id, model) do nothing;
  p_model.swept_at := case when cardinality(v_batch) < p_limit then p_at end;
  if cardinality(v_batch) > 0 then
    v_last := v_batch[cardinality(v_batch)];
    p_model.cursor_org := v_last.org;
    p_model.cursor_memory_id := v_last.memory_id;
    p_model.listed := p_model.listed + cardinality(v_batch);
  end if;
  update loom.embedding_model
  set cursor_org = p_model.cursor_org, cursor_memory_id = p_model.cursor_memory_id, listed = p_model.listed,
    swept_at = p_model.swept_at
  where model = p_model.model;
  return p_model;
end
$$;
comment on function loom._embedding_sweep(loom.embedding_model, integer, timestamptz) is
  'Lists the next rows that have no vector of a model as due, unless enough are waiting. What is written meanwhile is listed by the write itself.';
