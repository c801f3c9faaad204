create or replace function loom._looms_rendered(p_caller loom.caller, p_loom_ids uuid[], p_format text)
returns setof loom.pack_item
language plpgsql stable rows 50
as $$
declare
  v_loom_id uuid;
  v_loom loom.loom;
begin
  for v_loom_id in
    select loom_id from unnest(p_loom_ids) with ordinality as named (loom_id, place) group by loom_id order by min(place)
  loop
    v_loom := loom._loom_in_reach(p_caller, v_loom_id);
    return query
      select loom._loom_thread_rendered(told, loom._loom_told_name(v_loom), p_format),
        jsonb_build_object('loom_id', told.loom_id, 'thread_id', told.thread_id, 'user_id', told.user_id,
          'content_sha256', loom._sha256(told.text))
      from loom._loom_threads_told(p_caller, v_loom_id, coalesce(p_caller.agent, '-')) as told
      order by told.created_at, told.thread_id;
  end loop;
end
$$;
comment on function loom._looms_rendered(loom.caller, uuid[], text) is
  'The threads of looms as items of a pack (format xml or markdown): looms in the order named, each once, their threads as the caller''s agent is told them. A pure function of the threads. LM103 for a loom that is not there or not in reach.';
