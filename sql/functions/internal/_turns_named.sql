create or replace function loom._turns_named(p_part loom.loom_weaving_part, p_operation jsonb) returns uuid[]
language plpgsql immutable
as $$
begin
  -- By number, as numeric: a hostile one is never printed or cast.
  return array(
    select p_part.turn_ids[place] from generate_subscripts(p_part.turn_ids, 1) as place
    where exists (
      select from jsonb_path_query(p_operation, 'lax $.turns[0 to 49]', '{}', true) as number
      where jsonb_typeof(number) = 'number' and number::numeric = place)
    order by place);
end
$$;
comment on function loom._turns_named(loom.loom_weaving_part, jsonb) is
  'The ids of the turns that an operation of the model says it comes from, by their numbers; unknown ones are left out.';
