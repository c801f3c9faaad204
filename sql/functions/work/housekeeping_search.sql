create or replace function loom.housekeeping_search(p_most integer) returns integer
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_behind loom.memory_text := loom._text_behind();
  v_ids uuid[];
begin
  if v_behind.org is null then
    return 0;
  end if;
  -- First the locks, so that what is read next is no older than what is held.
  v_ids := array(
    select memory_id from loom.memory_text
    where org = v_behind.org and namespace = v_behind.namespace and language = v_behind.language
    limit p_most
    for no key update skip locked);
  update loom.memory_text as said
  set language = current.language, words = loom._memory_words(current.row_now, current.language)
  from (
    select row_now, loom._namespace_language(row_now.org, row_now.namespace) as language
    from loom.memory as row_now
    where org = v_behind.org and memory_id = any (v_ids) and loom._is_searchable(row_now)
  ) as current
  where said.org = v_behind.org and said.memory_id = any (v_ids) and said.memory_id = (current.row_now).memory_id;
  return cardinality(v_ids);
end
$$;
comment on function loom.housekeeping_search(integer) is
'Makes anew what at most so many rows of one namespace are found by, where its text search configuration has changed since; searches ask in both meanwhile. Rows that someone is writing just now are passed over. The worker calls it, a commit each time, until it answers 0.

Returns: how many rows were done.';
alter function loom.housekeeping_search(integer) owner to loom_scheduler;
